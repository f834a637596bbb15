"""What plugins fail in, for the log: where it happened once a minute, and what else is news. Events tell the rest."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from traceback import walk_tb
from types import TracebackType

from scheduler_runtime.framework.outcomes import BindError, PluginError

DECISION = 15
"""The level of the one line that each decision about a pod is worth; shown as INFO, from a verbosity of 2 on."""
AGAIN_SECONDS = 60.0
MOST_TEXTS = 5
"""So many texts of one kind of failure are told within that time: where each has the name of its pod, all are new."""
_OURS = __name__.rpartition(".")[0]


@dataclass(slots=True)
class _Said:
    at: float = float("-inf")
    times: int = 0
    """How often it has happened since."""
    texts: set[str] = field(default_factory=set)
    """What was told since."""


class FailureLog:
    """Logs failures of one kind with the traceback once a minute; what has another text has a line in between.

    They are of one kind when the same line of the same plugin raises the same type. All others have a line where
    decisions have one.
    """

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._said: dict[Hashable, _Said] = {}

    def reset(self) -> None:
        """Tell everything anew: there is another document, and who wrote it wants to know what it mended."""
        self._said.clear()

    def log(self, message: str, error: BaseException, **values: object) -> None:
        """Log ``message`` with ``values`` and what went wrong."""
        raised, text = _raised(error), str(error)
        said = self._said.setdefault(_kind(error, raised), _Said())
        said.times += 1
        values |= {"because": text}
        if self._clock() - said.at < AGAIN_SECONDS:
            is_news = text not in said.texts and len(said.texts) < MOST_TEXTS
            said.texts |= {text} if is_news else set()
            self._logger.log(logging.ERROR if is_news else DECISION, message, extra=values)
            return
        if said.times > 1:
            values["times"] = said.times
        said.at, said.times, said.texts = self._clock(), 0, {text}
        where = raised and (type(raised), raised, _within_plugin(raised.__traceback__))
        self._logger.error(message, extra=values, exc_info=where)


def _raised(error: BaseException | None) -> BaseException | None:
    """What a plugin raised itself; None when it answered wrongly."""
    while isinstance(error, PluginError | BindError):
        error = error.__cause__
    return error


def _kind(error: BaseException, raised: BaseException | None) -> Hashable:
    frames = [(frame.f_code, line) for frame, line in walk_tb(raised.__traceback__ if raised else None)]
    names = getattr(error, "plugin", ""), getattr(error, "hook", ""), id(_author(error))
    return (*names, type(raised), *frames[-1:])


def _author(error: BaseException | None) -> object:
    """The plugin itself: two profiles may have one of a name each, and a new document makes another."""
    while isinstance(error, PluginError | BindError):
        if error.of is not None:
            return error.of
        error = error.__cause__
    return None


def _within_plugin(frames: TracebackType | None) -> TracebackType | None:
    """The frames without those of ours that called the plugin."""
    inside = frames
    while inside and inside.tb_frame.f_globals.get("__name__", "").startswith(_OURS):
        inside = inside.tb_next
    return inside or frames
