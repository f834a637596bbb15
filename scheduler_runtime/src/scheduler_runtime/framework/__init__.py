"""One decision: run a profile's plugins from pre_filter to permit, combine what they say, explain it."""

from scheduler_runtime.framework.decision import NO_NODES
from scheduler_runtime.framework.extender_contract import (
    EXTENDER,
    Advice,
    Asks,
    AsksFilter,
    AsksScores,
    AsksVictims,
    Extenders,
    Filtered,
)
from scheduler_runtime.framework.failure_log import Failures
from scheduler_runtime.framework.framework import Framework
from scheduler_runtime.framework.hook import is_our_cancellation, raised
from scheduler_runtime.framework.outcomes import (
    Assumes,
    BindError,
    Flights,
    Gate,
    Placed,
    PluginError,
    RegistrationError,
    Unschedulable,
)
from scheduler_runtime.framework.plugin_handle import Objects, Services
from scheduler_runtime.framework.progress import Steps
from scheduler_runtime.framework.queue_hooks import PodWithoutNode
from scheduler_runtime.framework.stack_probe import Suspect, suspect

__all__ = [
    "EXTENDER",
    "NO_NODES",
    "Advice",
    "Asks",
    "AsksFilter",
    "AsksScores",
    "AsksVictims",
    "Assumes",
    "BindError",
    "Extenders",
    "Failures",
    "Filtered",
    "Flights",
    "Framework",
    "Gate",
    "Objects",
    "Placed",
    "PluginError",
    "PodWithoutNode",
    "RegistrationError",
    "Services",
    "Steps",
    "Suspect",
    "Unschedulable",
    "is_our_cancellation",
    "raised",
    "suspect",
]
