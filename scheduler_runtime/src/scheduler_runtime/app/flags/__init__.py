"""The command line: kube-scheduler's flags where they mean the same, and a few of our own."""

from scheduler_runtime.app.flags.document import NO_DOCUMENT, Overrides, load_document
from scheduler_runtime.app.flags.parser import find_ignored_flags, flag_values, parse_flags

__all__ = ["NO_DOCUMENT", "Overrides", "find_ignored_flags", "flag_values", "load_document", "parse_flags"]
