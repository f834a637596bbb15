"""For tests of plugins and of what decides: nodes, pods and a cluster in a line each, no API server.

``check(PriceCap)`` in a test of yours asks everything that the contract of a plugin promises.
"""

from scheduler_runtime.testing.builders import Cluster, framework, node, pod
from scheduler_runtime.testing.kit import Breach, ContractError, breaches, check
from scheduler_runtime.testing.objects import Objects

__all__ = ["Breach", "Cluster", "ContractError", "Objects", "breaches", "check", "framework", "node", "pod"]
