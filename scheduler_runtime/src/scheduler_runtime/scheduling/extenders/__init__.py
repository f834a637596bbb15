"""Extenders: services that are asked over HTTP which nodes do, how good they are, whom to preempt, and to bind."""

from scheduler_runtime.scheduling.extenders.chain import Extenders
from scheduler_runtime.scheduling.extenders.extender import Extender, needs_nodes
from scheduler_runtime.scheduling.extenders.factory import Lending
from scheduler_runtime.scheduling.extenders.http_calls import Calls, ExtenderError
from scheduler_runtime.scheduling.extenders.raw_objects import OriginalError, Originals

__all__ = ["Calls", "Extender", "ExtenderError", "Extenders", "Lending", "OriginalError", "Originals", "needs_nodes"]
