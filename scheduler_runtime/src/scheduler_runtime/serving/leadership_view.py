"""What is shown of the election."""

from __future__ import annotations

from typing import Protocol


class HeartbeatView(Protocol):
    """Whether the event loop still runs."""

    def check(self) -> str | None:
        """What is wrong, None when nothing is."""
        ...


class LeadershipView(Protocol):
    """Who leads, as far as this process knows."""

    @property
    def name(self) -> str:
        """The Lease's name, empty without leader election."""
        ...

    @property
    def is_leader(self) -> bool:
        """Whether this process leads."""
        ...

    @property
    def pulse(self) -> HeartbeatView:
        """Whether the event loop still runs."""
        ...

    def check(self) -> str | None:
        """What is wrong with the election, None when nothing is."""
        ...
