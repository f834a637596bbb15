"""The stream of one watch: what is in it, how it ends, and when the next may be asked for.

kopf dies of a line that is no event, and when a stream ends it asks for the next one at once. So it is handed events
only, and a stream that ends when it has hardly begun makes the next one wait.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp

SETTLED_SECONDS = 2.0
EARLY_SECONDS = 60.0
SPACING_SECONDS = 0.5
LONGEST_SPACING_SECONDS = 8.0

CUT = "the stream was cut off"
EARLY = "the stream ended early"
EXPIRED = "what was seen last has expired (410); listing again"

EXPIRED_LINE = b'{"type": "ERROR", "object": {"code": 410}}\n'
"""After this event kopf lists everything again."""


class Content(Protocol):
    """How kopf reads an answer."""

    def iter_chunked(self, n: int, /) -> AsyncIterator[bytes]: ...


@dataclass(slots=True)
class Watch:
    """The watch of one kind, from one stream to the next."""

    began: float | None = None
    because: str = ""
    early: int = 0
    not_before: float = 0.0

    def ends(self, now: float) -> str:
        """The stream is over, if there was one: why, when that is worth a word.

        Every stream ends some time. One that does so at once may do it again and again, so the next has to wait.
        """
        if self.began is None:
            return ""
        lasted = now - self.began
        self.early = self.early + 1 if lasted < SETTLED_SECONDS else 0
        self.not_before = self.began + min(SPACING_SECONDS * 2 ** min(self.early, 32), LONGEST_SPACING_SECONDS)
        because = self.because or (EARLY if lasted < EARLY_SECONDS else "")
        self.began, self.because = None, ""
        return because


class Events:
    """The content of a watch's answer, one event to a line. Notes in ``watch`` how it ends."""

    def __init__(self, content: Content, watch: Watch) -> None:
        self._content = content
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)  # aiohttp has to do with it too

    async def iter_chunked(self, n: int, /) -> AsyncIterator[bytes]:
        """Read events. After what is none nothing that follows is trusted: everything is listed again."""
        try:
            async for line in self._lines(n):
                self._watch.because = _trouble(line)
                yield EXPIRED_LINE if self._watch.because else line
        except aiohttp.ClientError:
            self._watch.because = CUT
            raise

    async def _lines(self, n: int) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self._content.iter_chunked(n):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in filter(None, lines):
                yield line + b"\n"
        if rest:
            yield rest


def _trouble(line: bytes) -> str:
    """What is wrong with a line; empty when it is an event."""
    match _parsed(line):
        case {"type": "ADDED" | "MODIFIED" | "DELETED", "object": {"metadata": {"name": str()}}}:
            return ""
        case {"type": "BOOKMARK", "object": {"metadata": dict()}}:
            return ""
        case {"type": "ERROR", "object": {"code": 410}} | {"kind": "Status", "code": 410}:
            return EXPIRED
        case {"type": "ERROR", "object": {"code": code, **status}}:
            return f"{code} {status.get('reason', '')}: {status.get('message', '')}"
        case _:
            return f"the API server sent what is no event: {line[:80]!r}"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
