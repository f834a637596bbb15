"""What goes wrong in a way the reader can act on: the message is a sentence that says what to do."""

from __future__ import annotations


class DevclusterError(Exception):
    """The one exception that callers of this package are expected to show to a person as it is."""


class MissingBinariesError(DevclusterError):
    """A binary is not here and cannot be made here: no network, no Go and no cache."""


class AddressTakenError(DevclusterError):
    """A component found its port in use: another program took it after it was chosen."""
