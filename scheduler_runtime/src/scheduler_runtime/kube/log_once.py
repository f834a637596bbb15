"""Say a trouble once: when it begins, when it changes, and when it is over.

What is retried every few seconds would otherwise fill the log with one sentence.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable


class LogOnce:
    """One thing that can go wrong again and again, for example reaching the API server.

    Safe to use from several threads.
    """

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._lock = threading.Lock()
        self._sentence = ""
        self._since = self._seen_at = 0.0
        self._over_at = float("-inf")

    @property
    def sentence(self) -> str:
        """What is wrong now; empty when nothing is."""
        return self._sentence

    def failing(self, sentence: str, cause: str = "", started_at: float = float("inf")) -> None:
        """Log ``sentence`` with its cause, unless it is what was said last, whatever the cause is now.

        What failed has ``started_at`` then: if that was before others went well again, it is no news.
        """
        with self._lock:
            if not self._sentence and started_at < self._over_at:
                return
            self._seen_at = self._clock()
            if sentence == self._sentence:
                return
            if not self._sentence:
                self._since = self._seen_at
            self._sentence = sentence
        self._logger.warning("%s", f"{sentence}: {cause}" if cause else sentence)

    def reset(self) -> None:
        """Think no more of it, whether it is over or not."""
        with self._lock:
            self._sentence = ""

    def recovered(self, started_at: float = float("inf")) -> None:
        """Log that the trouble is over, if what went well has ``started_at`` after the last failure."""
        if not self._sentence:  # the usual case, at every request
            return
        with self._lock:
            if not self._sentence or started_at < self._seen_at:
                return
            sentence, self._sentence = self._sentence, ""
            self._over_at = self._clock()
            seconds = self._over_at - self._since
        self._logger.info("over after %.1f s: %s", seconds, sentence)


class SharedLogOnce:
    """One thing that many find out at about the same time, such as that an API server ends all watches.

    The first says it, and it is over when it is for all of them. For use in one thread.
    """

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._trouble = LogOnce(logger, clock)
        self._concerned: set[object] = set()

    def affects(self, who: object) -> bool:
        """Whether ``who`` has it."""
        return who in self._concerned

    def failing(self, who: object, sentence: str, cause: str = "") -> None:
        """Now ``who`` has it, too."""
        self._concerned.add(who)
        self._trouble.failing(sentence, cause)

    def recovered(self, who: object) -> None:
        """It is over for ``who``."""
        if who in self._concerned:
            self._concerned.remove(who)
            if not self._concerned:
                self._trouble.recovered()

    def withdraw(self, who: object) -> None:
        """What becomes of it is no matter of ``who`` any more. When nobody is left that is not said to be its end."""
        self._concerned.discard(who)
        if not self._concerned:
            self._trouble.reset()
