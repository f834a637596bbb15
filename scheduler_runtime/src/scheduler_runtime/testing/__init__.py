"""For tests of plugins and of what decides: nodes, pods and a cluster in a line each, no API server.

``check(PriceCap)`` in a test of yours asks everything that the contract of a plugin promises.
"""

from .builders import Cluster, framework, node, pod
from .kit import Breach, ContractError, breaches, check
from .objects import Objects

__all__ = ["Breach", "Cluster", "ContractError", "Objects", "breaches", "check", "framework", "node", "pod"]
