"""Authenticate and authorize callers, as every Kubernetes component does for its own endpoints.

always allowed path ──► yes                      no token: system:anonymous
client certificate of the configured CA ─────┐
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

from scheduler_runtime.serving.https.responses import EndpointResponse, forbidden, internal_error, unauthorized
from scheduler_runtime.serving.https.routes import path_of

MASTERS = "system:masters"
CACHED_REVIEWS = 1024


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated user, with what a SubjectAccessReview may depend on."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)


ANONYMOUS = Caller("system:anonymous", ("system:unauthenticated",))


class ReviewError(Exception):
    """The API server could not be asked."""


class Reviews(Protocol):
    """TokenReview and SubjectAccessReview. Each method raises ReviewError if there is no usable response."""

    def caller(self, token: str) -> Caller | None:
        """Return the owner of ``token``, None if nobody's."""
        ...

    def allows(self, caller: Caller, verb: str, path: str) -> tuple[bool, str]:
        """Return whether ``caller`` may, and the reason if the API server gives one."""
        ...


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Always allowed paths, and for how long review results are reused: from the flags."""

    allowed_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    token_seconds: float = 10.0
    """For how long the owner of a token is known, also that it has none."""
    allowed_seconds: float = 10.0
    denied_seconds: float = 10.0

    def always_allow(self, path: str) -> bool:
        """Return True if ``path`` is open to everybody; a star at the end of an allowed path stands for any end."""
        return any(
            path.startswith("/" + allowed.removeprefix("/")[:-1])
            if allowed.endswith("*")
            else path == "/" + allowed.lstrip("/")
            for allowed in self.allowed_paths
        )


class Access:
    """Decides which requests are answered."""

    def __init__(self, reviews: Reviews, rules: AccessRules, clock: Callable[[], float] = time.monotonic) -> None:
        self._reviews = reviews
        self._rules = rules
        self._callers: ReviewCache[Caller | None] = ReviewCache(clock)
        self._verdicts: ReviewCache[tuple[bool, str]] = ReviewCache(clock)

    def refuse(self, method: str, target: str, authorization: str, certified: Caller | None) -> EndpointResponse | None:
        """Return the refusal of the request, None if it may pass. ``certified`` is the client certificate's owner.

        As in kube-apiserver's filters, a token that is invalid, or cannot be reviewed, is 401 even for open paths.
        """
        path, verb, rules = path_of(target), method.lower(), self._rules
        try:
            # A certificate counts before a token, as in apiserver's DelegatingAuthenticatorConfig.
            caller = certified or self._authenticate(authorization)
        except ReviewError:
            return unauthorized()
        if caller is None:
            return unauthorized()
        if rules.always_allow(path) or MASTERS in caller.groups:
            return None
        try:
            allowed, reason = self._verdicts.get(
                (caller.name, caller.groups, caller.uid, verb, path),
                lambda: self._reviews.allows(caller, verb, path),
                lambda verdict: rules.allowed_seconds if verdict[0] else rules.denied_seconds,
            )
        except ReviewError as error:
            return internal_error(str(error))
        return None if allowed else forbidden(caller.name, verb, path, reason)

    def _authenticate(self, authorization: str) -> Caller | None:
        """Return the owner of the bearer token, None if it is nobody's. Raises ReviewError."""
        kind, _, token = authorization.strip().partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        key = hashlib.sha256(token.encode()).hexdigest()  # no token stays readable in our memory
        return self._callers.get(key, lambda: self._reviews.caller(token.strip()), lambda _: self._rules.token_seconds)


T = TypeVar("T")


class ReviewCache(Generic[T]):
    """Review results, each reused for a limited time. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._results: OrderedDict[object, tuple[float, T]] = OrderedDict()

    def get(self, key: object, review: Callable[[], T], lifetime: Callable[[T], float]) -> T:
        """Return the cached result for ``key``, else that of ``review``, which is cached for its ``lifetime`` seconds.

        What ``review`` raises is raised, and not cached.
        """
        with self._lock:
            cached = self._results.get(key)
        if cached and self._clock() < cached[0]:
            return cached[1]
        # Without the lock: a slow API server delays only the callers that it is asked about. Two threads may ask the
        # same at once, and the later answer stays.
        result = review()
        with self._lock:
            self._results[key] = (self._clock() + lifetime(result), result)
            self._results.move_to_end(key)
            while len(self._results) > CACHED_REVIEWS:
                self._results.popitem(last=False)
        return result
