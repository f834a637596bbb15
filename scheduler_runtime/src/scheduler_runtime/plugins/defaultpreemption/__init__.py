"""Making room for a pod by evicting pods of lower priority.

eligibility ──► dry run of many nodes ──► the best of them ──► its victims are evicted, in the background
"""

from scheduler_runtime.plugins.defaultpreemption.plugin import DefaultPreemption

__all__ = ["DefaultPreemption"]
