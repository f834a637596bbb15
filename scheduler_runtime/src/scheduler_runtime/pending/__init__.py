"""Where pods wait until they have a node."""

from scheduler_runtime.pending.entry import Entry, Place
from scheduler_runtime.pending.machine import Pending, Profile

__all__ = ["Entry", "Pending", "Place", "Profile"]
