"""DefaultPreemption: room for a pod by evicting pods of lower priority.

eligibility (plugin) ──► dry run on many nodes ──► the best candidate ──► its victims are evicted in the background

Upstream: pkg/scheduler/framework/preemption and pkg/scheduler/framework/plugins/defaultpreemption.
"""

from scheduler_runtime.plugins.defaultpreemption.plugin import DefaultPreemption

__all__ = ["DefaultPreemption"]
