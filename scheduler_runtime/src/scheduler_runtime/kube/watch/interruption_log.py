"""What is said when watches do not go on, in as few lines as an operator needs to know where to look.

lost or refused once ───────────────────► nothing: it is resumed a moment later
nobody is there, or our token is refused ► said by the client
again, by a trouble of the API server ───► said once for all watches, and once when it is over
again, by anything else ─────────────────► said for this watch
"""

from __future__ import annotations

import logging
from weakref import WeakValueDictionary

from scheduler_runtime.kube.client import ApiError, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce, SharedLogOnce

logger = logging.getLogger(__name__)

PATIENCE = 2
"""So many failures in a row are worth a line."""
_of_all: WeakValueDictionary[str, SharedLogOnce] = WeakValueDictionary()
"""By API server, as long as it is watched: the log is one, however many clients and watches there are."""


class InterruptionLog:
    """What keeps one watch from going on, said where nobody says it for it."""

    def __init__(self, path: str, server: str) -> None:
        self.sentence = ""
        """What is wrong now, said or not; empty when nothing is."""
        self.refusal: ApiError | None = None
        """The last answer, if it was one that is about this watch and no trouble of the API server."""
        self._path = path
        self._server = server
        self._own = LogOnce(logger)
        self._of_all = _of_all.setdefault(server, SharedLogOnce(logger))
        self._in_a_row = 0
        self._alone_in_a_row = 0
        """How often of late it failed in a way that is no trouble of the API server."""

    def failing(self, error: Exception) -> None:
        """The watch, or a list before it, failed."""
        self.sentence = f"watching {self._path} is interrupted: {error}{_remedy(error)}"
        self.refusal = error if isinstance(error, ApiError) and not _is_of_all(error) else None
        if _is_said_by_the_client(error):
            self._in_a_row = 0
            return
        self._in_a_row += 1
        self._alone_in_a_row = 0 if _is_of_all(error) else self._alone_in_a_row + 1
        if self._in_a_row < PATIENCE:
            logger.debug("%s", self.sentence)
        else:
            self._say(error)

    def _say(self, error: Exception) -> None:
        if _is_of_all(error):
            self._say_of_all(error)
        elif isinstance(error, ApiError):
            self._of_all.recovered(self)  # it is answered: what it is answered is another matter
            self._own.failing(self.sentence)
        elif not self._own.sentence and (self._alone_in_a_row >= PATIENCE or not self._of_all.affects(self)):
            self._of_all.recovered(self)
            self._own.failing(f"watching {self._path} is interrupted", str(error))

    def _say_of_all(self, error: Exception) -> None:
        """Unless it has been said to fail already: that it fails in another way now helps nobody."""
        if not self._own.sentence and not self._of_all.affects(self):
            why = error.cause if isinstance(error, NoResponseError) else error
            self._of_all.failing(self, f"watches of API server {self._server} are interrupted", f"{self._path}: {why}")

    def recovered(self) -> None:
        """The watch goes on."""
        self.sentence, self.refusal, self._in_a_row, self._alone_in_a_row = "", None, 0, 0
        self._own.recovered()
        self._of_all.recovered(self)

    def withdraw(self) -> None:
        """Nobody watches this any more, whether it goes on or not."""
        self._of_all.withdraw(self)


def _remedy(error: Exception) -> str:
    """What would help, where the answer alone does not say it."""
    if not isinstance(error, ApiError) or error.status != 404:
        return ""
    return "; install what defines this kind, or, if it is Kubernetes' own, see whether the API server is new enough"


def _is_said_by_the_client(error: Exception) -> bool:
    return (isinstance(error, NoResponseError) and not error.sent) or (
        isinstance(error, ApiError) and error.status == 401
    )


def _is_of_all(error: Exception) -> bool:
    """Whether it is a trouble of the API server, or of the way there, and not of what is watched."""
    if isinstance(error, ApiError):
        return error.status == 429 or error.status >= 500
    return isinstance(error, NoResponseError)
