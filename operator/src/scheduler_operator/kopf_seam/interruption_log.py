"""Log of interrupted watches: one line when an interruption begins, one when it is over.

An API server that is away interrupts every stream, and again with each attempt. In the log that is two lines.
"""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class InterruptionLog:
    """The streams that are interrupted now, and the reasons that were logged since all of them flowed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = 0.0
        self._interrupted: set[str] = set()
        self._logged_reasons: set[str] = set()

    def begin(self, stream: str, reason: str) -> None:
        """``stream`` is interrupted: log it, unless another one was for the same reason."""
        if not self._interrupted:
            self._since = self._clock()
            self._logged_reasons.clear()
        self._interrupted.add(stream)
        if reason not in self._logged_reasons:
            self._logged_reasons.add(reason)
            logger.warning("watching %s is interrupted: %s", stream, reason)

    def end(self, stream: str) -> None:
        """``stream`` flows again: log it when it was the last interrupted one."""
        if stream in self._interrupted:
            self._interrupted.discard(stream)
            if not self._interrupted:
                logger.info("watching everything again after %.1f s", self._clock() - self._since)
