"""Resources of nodes: NodeResourcesFit and NodeResourcesBalancedAllocation.

Upstream: pkg/scheduler/framework/plugins/noderesources. Scores are computed in three ways with equal results: by
upstream's formulas over all nodes (``formulas``), by the same for one node, and quickly from values that are updated
only for the nodes that changed (``strategy``, ``balanced``).
"""

from scheduler_runtime.plugins.noderesources.balanced import NodeResourcesBalancedAllocation
from scheduler_runtime.plugins.noderesources.fit import NodeResourcesFit

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesFit"]
