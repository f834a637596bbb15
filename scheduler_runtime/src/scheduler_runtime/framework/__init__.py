"""Plugins at work: the hooks of a profile around the queue, in a decision and around a binding, and their errors.

``framework`` is the story of a decision and the map of this room.
"""

from scheduler_runtime.framework.context import PluginServices, ReadableObjects
from scheduler_runtime.framework.extender_contract import (
    EXTENDER,
    ExtenderAnswers,
    Extenders,
    FilterAnswer,
    FilterQuestion,
    Question,
    ScoreQuestion,
    VictimQuestion,
)
from scheduler_runtime.framework.failure_log import DECISION, FailureLog
from scheduler_runtime.framework.framework import NO_NODES, Framework
from scheduler_runtime.framework.hook import RunningHook, caught_exceptions, find_running_hook, is_our_cancellation
from scheduler_runtime.framework.outcomes import (
    AssumeCache,
    BindError,
    Placed,
    PluginError,
    PreBindPlan,
    PreemptedError,
    QueueGate,
    RegistrationError,
    Unschedulable,
)
from scheduler_runtime.framework.progress import Progress
from scheduler_runtime.framework.queue_hooks import PodWithoutNode

__all__ = [
    "DECISION",
    "EXTENDER",
    "NO_NODES",
    "AssumeCache",
    "BindError",
    "ExtenderAnswers",
    "Extenders",
    "FailureLog",
    "FilterAnswer",
    "FilterQuestion",
    "Framework",
    "Placed",
    "PluginError",
    "PluginServices",
    "PodWithoutNode",
    "PreBindPlan",
    "PreemptedError",
    "Progress",
    "Question",
    "QueueGate",
    "ReadableObjects",
    "RegistrationError",
    "RunningHook",
    "ScoreQuestion",
    "Unschedulable",
    "VictimQuestion",
    "caught_exceptions",
    "find_running_hook",
    "is_our_cancellation",
]
