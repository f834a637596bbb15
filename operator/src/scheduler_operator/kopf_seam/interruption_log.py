"""What keeps the operator from watching: said when it begins and when it is over, and not in between.

An API server that is away interrupts every stream, and again with each attempt. In the log that is two lines.
"""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class InterruptionLog:
    """Which streams are interrupted now, and which causes were said since all of them were well."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = 0.0
        self._interrupted: set[str] = set()
        self._said: set[str] = set()

    def begins(self, stream: str, because: str) -> None:
        """``stream`` is interrupted: log it, unless another one was for the same cause."""
        if not self._interrupted:
            self._since = self._clock()
            self._said.clear()
        self._interrupted.add(stream)
        if because not in self._said:
            self._said.add(because)
            logger.warning("watching %s is interrupted: %s", stream, because)

    def ends(self, stream: str) -> None:
        """``stream`` flows again: log it when it was the last one that did not."""
        if stream in self._interrupted:
            self._interrupted.discard(stream)
            if not self._interrupted:
                logger.info("watching everything again after %.1f s", self._clock() - self._since)
