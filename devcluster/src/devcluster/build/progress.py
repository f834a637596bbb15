"""Progress of long steps: one line that is rewritten on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Protocol, TextIO

# Called with a description of the step and, where it is known, the estimated seconds until its end.
Progress = Callable[[str, float | None], None]

PLAIN_LINE_EVERY_SECONDS = 30.0


class Clock(Protocol):
    def __call__(self) -> float: ...


def silent(what: str, seconds: float | None) -> None:
    """Show nothing."""


def progress_on(stream: TextIO, clock: Clock = time.monotonic) -> Progress:
    """Show progress on ``stream`` in the way that suits it."""
    return _Terminal(stream) if stream.isatty() else _Plain(stream, clock)


def remaining(seconds: float) -> str:
    """``about 4 min left``: no more exact than an estimate can be."""
    if seconds >= 90:
        return f"about {round(seconds / 60)} min left"
    if seconds >= 10:
        return f"about {round(seconds / 10) * 10} s left"
    return "a few seconds left"


def line(what: str, seconds: float | None) -> str:
    return what if seconds is None else f"{what}, {remaining(seconds)}"


class _Terminal:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._what = ""

    def __call__(self, what: str, seconds: float | None) -> None:
        ending = "\n" if self._what and what != self._what else ""
        self._what = what
        text = line(what, seconds)[: shutil.get_terminal_size().columns - 1]  # a line that wraps cannot be rewritten
        self._stream.write(f"{ending}\r\x1b[K{text}" + ("" if seconds else "\n"))
        if not seconds:
            self._what = ""
        self._stream.flush()


class _Plain:
    """A line when a new step begins, then one every half minute."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._what = ""
        self._last_line_at = 0.0

    def __call__(self, what: str, seconds: float | None) -> None:
        now = self._clock()
        if what == self._what and now - self._last_line_at < PLAIN_LINE_EVERY_SECONDS:
            return
        self._what, self._last_line_at = what, now
        self._stream.write(line(what, seconds) + "\n")
        self._stream.flush()
