"""The stream of one watch: passes only events on to kopf, notes why it ended, and delays the next one.

A line that is no event ends kopf, and when a stream ends kopf opens the next one at once. So kopf gets events only,
and a stream that ends when it has hardly begun makes the next one wait. What is interrupted is logged once for all.
"""

import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp

from scheduler_operator.cluster.json_reading import read_json
from scheduler_runtime.kube.retry import doubling_delay
from scheduler_runtime.kube.watch.unreadable import without_managed_fields

logger = logging.getLogger(__name__)

SETTLED_SECONDS = 2.0
EARLY_SECONDS = 60.0
SPACING_SECONDS = 0.5
LONGEST_SPACING_SECONDS = 8.0

CUT = "the stream was cut off"
EARLY = "the stream ended early"
EXPIRED = "the last known version has expired (410); listing again"

EXPIRED_LINE = b'{"type": "ERROR", "object": {"code": 410}}\n'
"""The event upon which kopf lists everything again."""


class Content(Protocol):
    """The part of an answer's content that kopf reads."""

    def iter_chunked(self, n: int, /) -> AsyncIterator[bytes]: ...


@dataclass(slots=True)
class WatchState:
    """State of the watch of one kind, from one stream to the next."""

    began_at: float | None = None
    end_reason: str = ""
    early_ends: int = 0
    not_before: float = 0.0

    def begin(self, now: float) -> float:
        """Note that a stream has begun; return when, by which a later look can tell whether it is still that one."""
        self.began_at = now
        return now

    def note(self, reason: str) -> None:
        """Note the reason for which the stream is about to end; nothing after an event that is in order."""
        self.end_reason = reason

    def end(self, now: float) -> str:
        """Note that the stream has ended, if there was one; return the reason, if it is worth reporting.

        Every stream ends some time. One that does so at once may do it again and again, so the next has to wait.
        """
        if self.began_at is None:
            return ""
        duration = now - self.began_at
        self.early_ends = self.early_ends + 1 if duration < SETTLED_SECONDS else 0
        self.not_before = self.began_at + doubling_delay(SPACING_SECONDS, LONGEST_SPACING_SECONDS, self.early_ends)
        reason = self.end_reason or (EARLY if duration < EARLY_SECONDS else "")
        self.began_at, self.end_reason = None, ""
        return reason


class EventStream:
    """The content of a watch's answer, one event to a line. Notes in ``watch`` why it ends."""

    def __init__(
        self, content: Content, watch: WatchState, take: Callable[[Mapping[str, Any]], bytes] | None = None
    ) -> None:
        """``take`` is called with each event of an object, and returns the line that kopf reads instead, if any."""
        self._take = take
        self._content = content
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)  # aiohttp itself uses other attributes

    async def iter_chunked(self, n: int, /) -> AsyncIterator[bytes]:
        """Read events. After a line that is none nothing is trusted any more: kopf lists everything again."""
        rest = b""
        try:
            async for chunk in self._content.iter_chunked(n):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in filter(None, lines):
                    if event := self._check_line(line + b"\n"):
                        yield event
            if rest and (event := self._check_line(rest)):
                yield event
        except aiohttp.ClientError:
            self._watch.note(CUT)
            raise

    def _check_line(self, line: bytes) -> bytes:
        """Return what kopf reads of an event; note why a line is none, and return one that makes kopf list again."""
        try:
            event = read_json(line)
        except ValueError:
            event = None
        self._watch.note("")
        match event:
            case {"type": "ADDED" | "MODIFIED" | "DELETED", "object": {"metadata": {"name": str()}}} if self._take:
                return self._take(event)
            case {"type": "ADDED" | "MODIFIED" | "DELETED", "object": {"metadata": {"name": str()}}}:
                return without_managed_fields(line)
            case {"type": "BOOKMARK", "object": {"metadata": dict()}}:
                return line
            case {"type": "ERROR", "object": {"code": 410}} | {"kind": "Status", "code": 410}:
                self._watch.note(EXPIRED)
            case {"type": "ERROR", "object": {"code": code, **status}}:
                self._watch.note(f"{code} {status.get('reason', '')}: {status.get('message', '')}")
            case _:
                self._watch.note(f"the API server sent what is no event: {line[:80]!r}")
        return EXPIRED_LINE


class InterruptedStreams:
    """The streams that are interrupted now: one line in the log when that begins, one when it is over.

    An API server that is away interrupts every stream, and again with each attempt. In the log that is two lines.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = 0.0
        self._interrupted: set[str] = set()
        self._logged_reasons: set[str] = set()
        """Since all streams flowed."""

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
