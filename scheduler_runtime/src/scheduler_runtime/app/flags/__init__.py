"""The command line: kube-scheduler's flags where they mean the same, and a few of our own."""

from scheduler_runtime.app.flags.document import NO_DOCUMENT, Overrides, load
from scheduler_runtime.app.flags.parser import ignored, parsed
from scheduler_runtime.app.flags.shown import shown

__all__ = ["NO_DOCUMENT", "Overrides", "ignored", "load", "parsed", "shown"]
