"""Time and memory that one input may take, and the most that any took, for the last line of a run."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Budget:
    """Watches over inputs: CPU time of each, and growth of the process over all of them."""

    def __init__(self, seconds: float, megabytes: float) -> None:
        self._seconds = seconds
        self._megabytes = megabytes
        # The peak begins anew (proc(5)): after the peak of a larger test before, no growth would show.
        Path("/proc/self/clear_refs").write_text("5")
        self._start = _peak_megabytes()
        self._slowest = (0.0, "")
        self._count, self._total = 0, 0.0

    @contextmanager
    def input(self, text: object) -> Iterator[None]:
        """One input; ``text`` is what a failure shows of it."""
        began = time.process_time()
        yield
        seconds = time.process_time() - began
        self._count, self._total = self._count + 1, self._total + seconds
        if seconds > self._slowest[0]:
            self._slowest = seconds, str(text)[:300]
        assert seconds < self._seconds, f"{seconds:.2f} s of CPU for {str(text)[:2000]}"
        grown = _peak_megabytes() - self._start
        assert grown < self._megabytes, f"{grown:.0f} MB more after {str(text)[:2000]}"

    def print(self, name: str) -> None:
        """Print the most that an input took."""
        seconds, text = self._slowest
        grown = _peak_megabytes() - self._start
        print(  # noqa: T201 - the figures are what is looked at
            f"{name}: {self._count} inputs; {self._total:.0f} s of CPU; slowest {1000 * seconds:.0f} ms;"
            f" {grown:.0f} MB more; {text[:80]}"
        )


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
