"""Where pods wait until they have a node."""

from scheduler_runtime.scheduling.pending.backing_off import BackingOff
from scheduler_runtime.scheduling.pending.entry import QueuedPod, QueuePlace
from scheduler_runtime.scheduling.pending.protocols import Profile
from scheduler_runtime.scheduling.pending.scheduling_queue import FLUSH_SECONDS, SchedulingQueue

__all__ = ["FLUSH_SECONDS", "BackingOff", "Profile", "QueuePlace", "QueuedPod", "SchedulingQueue"]
