"""Say a trouble once: when it begins, when it changes, and when it is over.

What is retried every few seconds would otherwise fill the log with one sentence.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable


class Trouble:
    """One thing that can go wrong again and again, for example reaching the API server.

    Safe to use from several threads.
    """

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._lock = threading.Lock()
        self._sentence = ""
        self._since = 0.0

    @property
    def sentence(self) -> str:
        """What is wrong now; empty when nothing is."""
        return self._sentence

    def begins(self, sentence: str, because: str = "") -> None:
        """Log ``sentence`` with its cause, unless it is what was said last, whatever the cause is now."""
        with self._lock:
            if sentence == self._sentence:
                return
            if not self._sentence:
                self._since = self._clock()
            self._sentence = sentence
        self._logger.warning("%s", f"{sentence}: {because}" if because else sentence)

    def ends(self) -> None:
        """Log that the trouble is over, if there was one."""
        with self._lock:
            if not self._sentence:
                return
            sentence, self._sentence = self._sentence, ""
            seconds = self._clock() - self._since
        self._logger.info("over after %.1f s: %s", seconds, sentence)
