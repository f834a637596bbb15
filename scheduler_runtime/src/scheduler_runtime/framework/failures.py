"""What plugins fail in, for the log: where it happened, once a minute. The pods' events tell it each time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from traceback import walk_tb
from types import TracebackType

from .outcomes import BindError, PluginError

AGAIN_SECONDS = 60.0
_OURS = __name__.rpartition(".")[0]


@dataclass(slots=True)
class _Said:
    at: float = float("-inf")
    times: int = 0
    """How often it has happened since."""


class Failures:
    """Logs the same failure with its traceback once a minute, and as a line for developers in between.

    It is the same when the same line of a plugin raises the same type: the text may name another pod each time.
    """

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._said: dict[Hashable, _Said] = {}

    def say(self, message: str, error: BaseException, **values: object) -> None:
        """Log ``message`` with ``values`` and what went wrong."""
        raised = _raised(error)
        said = self._said.setdefault(_kind(error, raised), _Said())
        said.times += 1
        values |= {"because": str(error)}
        if self._clock() - said.at < AGAIN_SECONDS:
            self._logger.debug(message, extra=values)
            return
        if said.times > 1:
            values["times"] = said.times
        said.at, said.times = self._clock(), 0
        where = raised and (type(raised), raised, _within_plugin(raised.__traceback__))
        self._logger.error(message, extra=values, exc_info=where)


def _raised(error: BaseException | None) -> BaseException | None:
    """What a plugin raised itself; None when it answered wrongly."""
    while isinstance(error, PluginError | BindError):
        error = error.__cause__
    return error


def _kind(error: BaseException, raised: BaseException | None) -> Hashable:
    frames = [(frame.f_code, line) for frame, line in walk_tb(raised.__traceback__ if raised else None)]
    return (getattr(error, "plugin", ""), getattr(error, "hook", ""), type(raised), *frames[-1:])


def _within_plugin(frames: TracebackType | None) -> TracebackType | None:
    """The frames without those of ours that called the plugin."""
    inside = frames
    while inside and inside.tb_frame.f_globals.get("__name__", "").startswith(_OURS):
        inside = inside.tb_next
    return inside or frames
