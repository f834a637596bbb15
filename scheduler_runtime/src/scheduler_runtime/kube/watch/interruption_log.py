"""Log of interrupted watches, in as few lines as an operator needs to know where to look.

lost or refused once ────────────────────► nothing: the watch resumes a moment later
server not reached, or token refused ────► logged by the client
again, by a failure of the API server ───► logged once for all watches, and once when it is over
again, by anything else ─────────────────► logged for this watch
"""

from __future__ import annotations

import logging
from weakref import WeakValueDictionary

from scheduler_runtime.kube.client import ApiError, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce

logger = logging.getLogger(__name__)

FAILURES_BEFORE_WARNING = 2
"""Failures in a row before a line is logged."""


class SharedLogOnce:
    """A failure that many watches notice at about the same time, such as an API server that ends all of them.

    The first logs it, and it is over when it is for all of them. For use in one thread.
    """

    def __init__(self) -> None:
        self._log = LogOnce(logger)
        self._affected: set[object] = set()

    def affects(self, watch: object) -> bool:
        """True if ``watch`` has reported the failure."""
        return watch in self._affected

    def failing(self, watch: object, sentence: str, cause: str) -> None:
        """Report the failure of ``watch``."""
        self._affected.add(watch)
        self._log.failing(sentence, cause)

    def recovered(self, watch: object) -> None:
        """Report that it is over for ``watch``."""
        if watch in self._affected:
            self._affected.remove(watch)
            if not self._affected:
                self._log.recovered()

    def withdraw(self, watch: object) -> None:
        """Forget ``watch``, which ends. When none is left the failure is not reported to be over: nobody knows."""
        self._affected.discard(watch)
        if not self._affected:
            self._log.reset()


_by_server: WeakValueDictionary[str, SharedLogOnce] = WeakValueDictionary()
"""One for each API server, as long as it is watched: the log is one, however many clients there are."""


class InterruptionLog:
    """The state of one watch, and what is logged of it."""

    def __init__(self, path: str, server: str) -> None:
        self.sentence = ""
        """The current failure, logged or not; empty when there is none."""
        self.refusal: ApiError | None = None
        """The last response, if it was a refusal of this watch and not a failure of the API server."""
        self._path = path
        self._server = server
        self._own = LogOnce(logger)
        self._shared = _by_server.setdefault(server, SharedLogOnce())
        self._in_a_row = 0
        self._own_in_a_row = 0
        """Failures in a row that are none of the API server."""

    def failing(self, error: Exception) -> None:
        """Note that the watch, or a list before it, failed, and log that if need be."""
        # A failure of the API server, or of the way to it, whatever is watched.
        if isinstance(error, ApiError):
            is_of_server = error.status == 429 or error.status >= 500
        else:
            is_of_server = isinstance(error, NoResponseError)
        remedy = ""
        if isinstance(error, ApiError) and error.status == 404:
            remedy = (
                "; install what defines this kind, or, if it is Kubernetes' own, see whether the API server is new "
                "enough"
            )
        self.sentence = f"watching {self._path} is interrupted: {error}{remedy}"
        self.refusal = error if isinstance(error, ApiError) and not is_of_server else None
        if (isinstance(error, NoResponseError) and not error.sent) or (
            isinstance(error, ApiError) and error.status == 401
        ):
            self._in_a_row = 0  # the client logs that
            return
        self._in_a_row += 1
        self._own_in_a_row = 0 if is_of_server else self._own_in_a_row + 1
        if self._in_a_row < FAILURES_BEFORE_WARNING:
            logger.debug("%s", self.sentence)
        elif is_of_server:
            # If this watch was logged to fail already, nobody is helped by reading that it now fails in another way.
            if not self._own.sentence and not self._shared.affects(self):
                cause = error.cause if isinstance(error, NoResponseError) else error
                sentence = f"watches of API server {self._server} are interrupted"
                self._shared.failing(self, sentence, f"{self._path}: {cause}")
        elif isinstance(error, ApiError):
            self._shared.recovered(self)  # there is a response: that it is a refusal is another matter
            self._own.failing(self.sentence)
        elif not self._own.sentence and (
            self._own_in_a_row >= FAILURES_BEFORE_WARNING or not self._shared.affects(self)
        ):
            # A broken stream may still be that failure of the API server; a second one in a row is not.
            self._shared.recovered(self)
            self._own.failing(f"watching {self._path} is interrupted", str(error))

    def recovered(self) -> None:
        """Note that the watch goes on."""
        self.sentence, self.refusal, self._in_a_row, self._own_in_a_row = "", None, 0, 0
        self._own.recovered()
        self._shared.recovered(self)

    def withdraw(self) -> None:
        """Note that the watch ends for good."""
        self._shared.withdraw(self)
