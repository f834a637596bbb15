"""Room on the nodes: what fits, and which node it fits best."""

from .balanced import NodeResourcesBalancedAllocation
from .fit import NodeResourcesFit

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesFit"]
