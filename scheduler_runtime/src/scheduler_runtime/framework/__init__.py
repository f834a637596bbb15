"""One decision: run a profile's plugins from pre_filter to permit, combine what they say, explain it."""

from scheduler_runtime.framework.decision import NO_NODES
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
from scheduler_runtime.framework.framework import Framework
from scheduler_runtime.framework.hook import caught_exceptions, is_our_cancellation
from scheduler_runtime.framework.outcomes import (
    AssumeCache,
    BindError,
    Placed,
    PluginError,
    PreBindPlan,
    QueueGate,
    RegistrationError,
    Unschedulable,
)
from scheduler_runtime.framework.plugin_handle import Objects, PluginServices
from scheduler_runtime.framework.progress import Progress
from scheduler_runtime.framework.queue_hooks import PodWithoutNode
from scheduler_runtime.framework.stack_probe import RunningHook, find_running_hook

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
    "Objects",
    "Placed",
    "PluginError",
    "PluginServices",
    "PodWithoutNode",
    "PreBindPlan",
    "Progress",
    "Question",
    "QueueGate",
    "RegistrationError",
    "RunningHook",
    "ScoreQuestion",
    "Unschedulable",
    "VictimQuestion",
    "caught_exceptions",
    "find_running_hook",
    "is_our_cancellation",
]
