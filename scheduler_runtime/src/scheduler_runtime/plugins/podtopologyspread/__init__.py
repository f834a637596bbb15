"""PodTopologySpread: pods spread evenly over zones, nodes or other domains.

constraints ──► domains: nodes that count, the domain of each, pods in each ──► filtering, scoring
                (in the cache: shared by all pods with equal constraints)

Upstream: pkg/scheduler/framework/plugins/podtopologyspread.
"""

from scheduler_runtime.plugins.podtopologyspread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
