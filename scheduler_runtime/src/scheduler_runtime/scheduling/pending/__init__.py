"""The queue: every pod that waits for a node, and why it waits."""

from scheduler_runtime.scheduling.pending.places import BackingOff
from scheduler_runtime.scheduling.pending.queued_pod import QueuedPod, QueuedProfile, QueuePlace
from scheduler_runtime.scheduling.pending.scheduling_queue import FLUSH_SECONDS, SchedulingQueue

__all__ = ["FLUSH_SECONDS", "BackingOff", "QueuePlace", "QueuedPod", "QueuedProfile", "SchedulingQueue"]
