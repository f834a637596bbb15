"""A request over a shared connection, and what may become of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from scheduler_runtime.kube.http.http1 import Response


class StreamRefusedError(Exception):
    """The request did not leave, or the server did not look at it: it can be sent again."""


class Http2UnsupportedError(Exception):
    """The server does not speak HTTP/2, or not about this."""


class SendGuard(Protocol):
    """Asked right before a request leaves, each time that it does."""

    def __call__(self) -> None:
        """Raise when it may not leave any more."""

    def left(self) -> float:
        """How many seconds may pass until its answer. Raises TimeoutError when there are none."""


@dataclass(slots=True, eq=False)
class RequestStream:
    """A request under way."""

    head: bytes
    content: bytes
    leaving: SendGuard
    answer: asyncio.Future[Response]
    stream: int = 0
    """None of its own until it leaves."""
    deadline: float = 0.0
    status: int = 0
    retry_after: str = ""
    body: list[bytes] = field(default_factory=list)
