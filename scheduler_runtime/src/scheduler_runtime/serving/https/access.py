"""Who asks, and may they: as every component of Kubernetes decides it for its own endpoints.

always allowed path ──► yes                      no token: system:anonymous
client certificate of the CA that was given ─┐
bearer token ──► TokenReview ────────────────┴──► system:masters: yes ──► SubjectAccessReview
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from scheduler_runtime.serving.https.routes import Answer, path_of
from scheduler_runtime.serving.https.status_objects import forbidden, internal_error, unauthorized

MASTERS = "system:masters"
KEPT = 1024


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who is known."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)


ANONYMOUS = Caller("system:anonymous", ("system:unauthenticated",))


class ReviewError(Exception):
    """The API server could not be asked."""


class Reviews(Protocol):
    """The API server's opinions. Each raises ReviewError when there is none."""

    def caller(self, token: str) -> Caller | None:
        """Whose token this is, None when nobody's."""
        ...

    def allows(self, caller: Caller, verb: str, path: str) -> tuple[bool, str]:
        """Whether ``caller`` may, and the reason if the API server gives one."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """What the flags say about access."""

    allowed_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    token_seconds: float = 10.0
    allowed_seconds: float = 10.0
    denied_seconds: float = 10.0

    def always_allow(self, path: str) -> bool:
        """Whether nobody is asked; a path that ends in a star stands for all that begin so."""
        return any(
            path.startswith("/" + each.removeprefix("/")[:-1]) if each.endswith("*") else path == "/" + each.lstrip("/")
            for each in self.allowed_paths
        )


class Access:
    """Lets requests pass, or says why not."""

    def __init__(self, reviews: Reviews, rules: Rules, clock: Callable[[], float] = time.monotonic) -> None:
        self._reviews = reviews
        self._rules = rules
        self._callers: CachedReview[Caller | None] = CachedReview(clock)
        self._verdicts: CachedReview[tuple[bool, str]] = CachedReview(clock)

    def refusal(self, method: str, target: str, authorization: str, certified: Caller | None) -> Answer | None:
        """Why the request is not answered; None when it is. ``certified`` is who the client certificate names."""
        path, verb = path_of(target), method.lower()
        try:
            caller = certified or self._caller(authorization)
        except ReviewError:
            return unauthorized()
        if caller is None:
            return unauthorized()
        if self._rules.always_allow(path) or MASTERS in caller.groups:
            return None
        try:
            allowed, reason = self._verdict(caller, verb, path)
        except ReviewError as error:
            return internal_error(str(error))
        return None if allowed else forbidden(caller.name, verb, path, reason)

    def _caller(self, authorization: str) -> Caller | None:
        kind, _, token = authorization.strip().partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        key = hashlib.sha256(token.encode()).hexdigest()
        return self._callers.get(key, lambda: self._reviews.caller(token.strip()), lambda _: self._rules.token_seconds)

    def _verdict(self, caller: Caller, verb: str, path: str) -> tuple[bool, str]:
        rules = self._rules
        return self._verdicts.get(
            (caller.name, caller.groups, caller.uid, verb, path),
            lambda: self._reviews.allows(caller, verb, path),
            lambda verdict: rules.allowed_seconds if verdict[0] else rules.denied_seconds,
        )


T = TypeVar("T")


class CachedReview(Generic[T]):
    """Answers that are asked for once in a while only. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: OrderedDict[object, tuple[float, T]] = OrderedDict()

    def get(self, key: object, ask: Callable[[], T], seconds_of: Callable[[T], float]) -> T:
        """What is kept under ``key``, else what ``ask`` returns, which is kept for the seconds it is worth."""
        with self._lock:
            found = self._answers.get(key)
        if found and self._clock() < found[0]:
            return found[1]
        answer = ask()
        with self._lock:
            self._answers[key] = (self._clock() + seconds_of(answer), answer)
            self._answers.move_to_end(key)
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)
        return answer
