"""Extenders: services that are asked over HTTP which nodes do, how good they are, whom to preempt, and to bind."""

from .calls import Calls, ExtenderError
from .extender import Extender, needs_nodes
from .lending import Lending
from .originals import OriginalError, Originals
from .several import Extenders

__all__ = ["Calls", "Extender", "ExtenderError", "Extenders", "Lending", "OriginalError", "Originals", "needs_nodes"]
