"""How long to wait before the next attempt."""

from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """Waits that double from ``first`` to ``longest`` until something worked."""

    first: float
    longest: float
    _wait: float = 0

    def next(self) -> float:
        """The seconds to wait now."""
        self._wait = min(self._wait * 2 or self.first, self.longest)
        return self._wait

    def reset(self) -> None:
        """It worked: begin again with the first wait."""
        self._wait = 0
