"""The time as the API writes it, and growing waits between attempts."""

from dataclasses import dataclass
from datetime import UTC, datetime


def now() -> str:
    """This moment, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def now_micro() -> str:
    """This moment, to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_since(moment: str) -> float:
    """The seconds that have passed since ``moment``."""
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()


@dataclass(slots=True)
class Backoff:
    """Waits that double from ``first`` to ``longest`` until an attempt succeeds."""

    first: float
    longest: float
    _wait: float = 0

    def next(self) -> float:
        """The seconds to wait now."""
        self._wait = min(self._wait * 2 or self.first, self.longest)
        return self._wait

    def reset(self) -> None:
        """Begin again with the first wait, after an attempt that succeeded."""
        self._wait = 0
