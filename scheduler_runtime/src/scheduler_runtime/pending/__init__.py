"""Where pods wait until they have a node."""

from scheduler_runtime.pending.backing_off import BackingOff
from scheduler_runtime.pending.entry import Entry, Place
from scheduler_runtime.pending.machine import FLUSH_SECONDS, Pending
from scheduler_runtime.pending.seams import Profile

__all__ = ["FLUSH_SECONDS", "BackingOff", "Entry", "Pending", "Place", "Profile"]
