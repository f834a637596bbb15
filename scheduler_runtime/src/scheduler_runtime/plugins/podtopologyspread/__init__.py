"""Spreading pods evenly over zones, nodes or other domains.

constraints ──► ground: which nodes count, and in which domain each is
                  │
                  └──► tally: how many pods are in each domain ──► filtering, scoring
"""

from scheduler_runtime.plugins.podtopologyspread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
