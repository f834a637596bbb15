"""Logging of a failure that repeats: one line when it begins, one when it changes, one when it is over.

A failure that is retried every few seconds would otherwise fill the log with one sentence.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable


class LogOnce:
    """State of one thing that can fail again and again, for example reaching the API server.

    Safe to use from several threads.
    """

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._lock = threading.Lock()
        self.sentence = ""
        """The current failure; empty when there is none."""
        self._failing_since = self._last_failure_at = 0.0
        self._recovered_at = float("-inf")

    def failing(self, sentence: str, cause: str = "", started_at: float = float("inf")) -> None:
        """Log ``sentence`` with its cause, unless that sentence was logged last, whatever its cause is now.

        Of several attempts under way one may fail although a later one was successful already: an attempt with
        ``started_at`` before the last recovery is not logged.
        """
        with self._lock:
            if not self.sentence and started_at < self._recovered_at:
                return
            self._last_failure_at = self._clock()
            if sentence == self.sentence:
                return
            if not self.sentence:
                self._failing_since = self._last_failure_at
            self.sentence = sentence
        self._logger.warning("%s", f"{sentence}: {cause}" if cause else sentence)

    def reset(self) -> None:
        """Forget the failure without a line in the log: nobody knows any more whether it is over."""
        with self._lock:
            self.sentence = ""

    def recovered(self, started_at: float = float("inf")) -> None:
        """Log that the failure is over, if there is one, and the successful attempt started after it was last seen."""
        if not self.sentence:  # without the lock: the usual case, at every request
            return
        with self._lock:
            if not self.sentence or started_at < self._last_failure_at:
                return
            sentence, self.sentence = self.sentence, ""
            self._recovered_at = self._clock()
            seconds = self._recovered_at - self._failing_since
        self._logger.info("over after %.1f s: %s", seconds, sentence)
