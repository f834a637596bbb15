"""One decision: run a profile's plugins from pre_filter to permit, combine what they say, explain it."""

from .advice import EXTENDER, Advice, Asks, AsksFilter, AsksScores, AsksVictims, Extenders, Filtered
from .calls import is_our_cancellation, raised
from .decision import NO_NODES
from .failures import Failures
from .framework import Framework
from .outcomes import (
    Assumes,
    BindError,
    Flights,
    Gate,
    Placed,
    PluginError,
    RegistrationError,
    Unschedulable,
)
from .queueing import PodWithoutNode
from .services import Objects, Services
from .steps import Steps
from .suspects import Suspect, suspect

__all__ = [
    "EXTENDER",
    "NO_NODES",
    "Advice",
    "Asks",
    "AsksFilter",
    "AsksScores",
    "AsksVictims",
    "Assumes",
    "BindError",
    "Extenders",
    "Failures",
    "Filtered",
    "Flights",
    "Framework",
    "Gate",
    "Objects",
    "Placed",
    "PluginError",
    "PodWithoutNode",
    "RegistrationError",
    "Services",
    "Steps",
    "Suspect",
    "Unschedulable",
    "is_our_cancellation",
    "raised",
    "suspect",
]
