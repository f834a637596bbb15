"""Log of failures in plugins: the traceback once a minute, and a line in between for each of the first few texts.

The events of the pods tell the rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from traceback import walk_tb

from scheduler_runtime.framework.outcomes import BindError, PluginError

DECISION = 15
"""The log level of the one line that each decision is worth; shown as INFO, from a verbosity of 2 on."""

TRACEBACK_INTERVAL_SECONDS = 60.0
MAX_TEXTS = 5
"""How many texts of one kind of failure are logged in that time: where each names its pod, all of them differ."""
_FRAMEWORK = __name__.rpartition(".")[0]


@dataclass(slots=True)
class _Reports:
    """The reports of one kind of failure."""

    traceback_at: float = float("-inf")
    count: int = 0
    """How many failures there were since the traceback."""
    texts: set[str] = field(default_factory=set)
    """The texts logged since."""


class FailureLog:
    """Logs failures of one kind with the traceback once a minute, and another text with a line in between.

    Failures are of one kind when the same line of the same plugin object raises the same type. All others get a line
    of the level of decisions.
    """

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._reports: dict[Hashable, _Reports] = {}

    def reset(self) -> None:
        """Log everything anew: there is another document, and its author wants to know whether it helped."""
        self._reports.clear()

    def log(self, message: str, error: BaseException, **values: object) -> None:
        """Log ``message`` with ``values`` and the failure."""
        raised, instance = _innermost(error)
        text = str(error)
        lines = [(frame.f_code, line) for frame, line in walk_tb(raised.__traceback__ if raised else None)]
        # The plugin object is part of it: two profiles may have one of a name each, and a new document makes another.
        names = getattr(error, "plugin", ""), getattr(error, "hook", ""), id(instance)
        reports = self._reports.setdefault((*names, type(raised), *lines[-1:]), _Reports())
        reports.count += 1
        values |= {"because": text}
        if self._clock() - reports.traceback_at < TRACEBACK_INTERVAL_SECONDS:
            is_new = text not in reports.texts and len(reports.texts) < MAX_TEXTS
            if is_new:
                reports.texts.add(text)
            self._logger.log(logging.ERROR if is_new else DECISION, message, extra=values)
            return
        if reports.count > 1:
            values["times"] = reports.count
        reports.traceback_at, reports.count, reports.texts = self._clock(), 0, {text}
        if raised is None:
            self._logger.error(message, extra=values)
            return
        frames = raised.__traceback__
        while frames and frames.tb_frame.f_globals.get("__name__", "").startswith(_FRAMEWORK):
            frames = frames.tb_next  # The traceback begins in the plugin, not in the framework that called it.
        self._logger.error(message, extra=values, exc_info=(type(raised), raised, frames or raised.__traceback__))


def _innermost(error: BaseException | None) -> tuple[BaseException | None, object]:
    """Return what a plugin raised, None when it gave a wrong answer, and the plugin object if it is known."""
    instance: object = None
    # A BindError may wrap the PluginError of a pre_bind_flight, which wraps what the plugin raised.
    while isinstance(error, PluginError | BindError):
        if instance is None:
            instance = error.instance
        error = error.__cause__
    return error, instance
