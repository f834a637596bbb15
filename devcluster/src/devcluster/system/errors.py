"""Errors that the user can act on: the message is a sentence that says what to do."""

from __future__ import annotations


class DevclusterError(Exception):
    """The one exception that callers of this package are expected to show to a person as it is."""


class MissingBinariesError(DevclusterError):
    """A binary is missing and cannot be built: no network, no Go and no cache."""


class PortInUseError(DevclusterError):
    """The port of a component is in use: another program took it after we had picked it."""
