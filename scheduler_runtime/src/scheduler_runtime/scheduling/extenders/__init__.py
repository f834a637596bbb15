"""Extenders: HTTP services that filter and score nodes, choose victims of preemption, and bind pods."""

from scheduler_runtime.scheduling.extenders.chain import ExtenderChain, ExtenderFactory
from scheduler_runtime.scheduling.extenders.extender import Extender, needs_nodes
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
