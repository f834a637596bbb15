"""Room on the nodes: what fits, and which node it fits best."""

from .plugins import NodeResourcesBalancedAllocation, NodeResourcesFit

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesFit"]
