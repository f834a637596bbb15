"""InterPodAffinity: pods that must, or preferably do, run near other pods or away from them.

own_terms: a pod's own terms ─┐
                              ├──► topology_scores: matching pods near each node ──► filter_state, plugin (scores)
table: terms of other pods ───┘

Upstream: pkg/scheduler/framework/plugins/interpodaffinity.
"""

from scheduler_runtime.plugins.interpodaffinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
