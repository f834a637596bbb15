"""The command line: kube-scheduler's flags where they mean the same, and a few of our own."""

from .document import NO_DOCUMENT, Overrides, load
from .parser import ignored, parsed
from .shown import shown

__all__ = ["NO_DOCUMENT", "Overrides", "ignored", "load", "parsed", "shown"]
