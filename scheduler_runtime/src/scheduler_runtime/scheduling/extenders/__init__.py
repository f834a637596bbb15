"""Extenders: services that are asked over HTTP which nodes do, how good they are, whom to preempt, and to bind."""

from scheduler_runtime.scheduling.extenders.chain import ExtenderChain
from scheduler_runtime.scheduling.extenders.extender import Extender, needs_nodes
from scheduler_runtime.scheduling.extenders.factory import ExtenderFactory
from scheduler_runtime.scheduling.extenders.http_calls import ExtenderClient, ExtenderError
from scheduler_runtime.scheduling.extenders.raw_objects import RawObjectError, RawObjects

__all__ = [
    "Extender",
    "ExtenderChain",
    "ExtenderClient",
    "ExtenderError",
    "ExtenderFactory",
    "RawObjectError",
    "RawObjects",
    "needs_nodes",
]
