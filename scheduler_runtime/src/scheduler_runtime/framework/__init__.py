"""One decision: run a profile's plugins from pre_filter to permit, combine what they say, explain it."""

from .decision import NO_NODES
from .framework import Framework
from .outcomes import Assumes, BindError, Flights, Gate, Placed, PluginError, RegistrationError, Unschedulable
from .services import Objects, Services

__all__ = [
    "NO_NODES",
    "Assumes",
    "BindError",
    "Flights",
    "Framework",
    "Gate",
    "Objects",
    "Placed",
    "PluginError",
    "RegistrationError",
    "Services",
    "Unschedulable",
]
