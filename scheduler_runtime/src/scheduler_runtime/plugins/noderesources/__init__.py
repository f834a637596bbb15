"""Room on the nodes: what fits, and which node it fits best."""

from scheduler_runtime.plugins.noderesources.balanced import NodeResourcesBalancedAllocation
from scheduler_runtime.plugins.noderesources.fit import NodeResourcesFit

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesFit"]
