"""Tests of plugins without an API server: nodes, pods and clusters in a line each, and a check of the contract.

``check(PriceCap)`` in a test of yours tries everything that the contract of a plugin promises, on generated clusters.
``framework(profile, PriceCap).schedule(pod, cluster)`` makes one whole decision. docs/plugins.md shows both.
"""

from scheduler_runtime.testing.builders import Cluster, framework, node, pod
from scheduler_runtime.testing.kit import Breach, ContractError, breaches, check
from scheduler_runtime.testing.objects import Objects

__all__ = ["Breach", "Cluster", "ContractError", "Objects", "breaches", "check", "framework", "node", "pod"]
