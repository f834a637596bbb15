"""Authenticate and authorize callers, as every Kubernetes component does for its own endpoints.

always allowed path ──► yes                      no token: system:anonymous
client certificate of the configured CA ─────┐
bearer token ──► TokenReview ────────────────┴──► system:masters: yes ──► SubjectAccessReview

Both reviews are requests to the API server; their answers are remembered for a while, and one address may cause only so
many of them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from scheduler_runtime.component.https.routes import (
    EndpointResponse,
    forbidden,
    internal_error,
    path_of,
    too_many_requests,
    unauthorized,
)
from scheduler_runtime.kube.blocking_client import RequestFailedError, request
from scheduler_runtime.kube.credentials import Credentials, CredentialsError
from scheduler_runtime.kube.log_once import LogOnce

logger = logging.getLogger(__name__)

AUTHENTICATED = "system:authenticated"


class ApiServerReviews:
    """Sends one request for each review; nothing is cached here."""

    def __init__(
        self, authentication: Callable[[], Credentials], authorization: Callable[[], Credentials], user_agent: str
    ) -> None:
        """Both load credentials; each is called before the first request that needs it, may raise CredentialsError."""
        self._load = {"TokenReview": authentication, "SubjectAccessReview": authorization}
        self._credentials: dict[str, Credentials] = {}
        self._user_agent = user_agent
        self._trouble = LogOnce(logger)

    def caller(self, token: str) -> Caller | None:
        """Return the owner of ``token``, None if nobody's. Raises ReviewError."""
        status = self._review("authentication.k8s.io/v1", "TokenReview", {"token": token})
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        groups = [str(group) for group in user.get("groups") or ()]
        # Authenticators may leave the group out; apiserver adds it, too (NewAuthenticatedGroupAdder).
        if AUTHENTICATED not in groups:
            groups.append(AUTHENTICATED)
        return Caller(
            str(user.get("username", "")), tuple(groups), str(user.get("uid", "")), dict(user.get("extra") or {})
        )

    def allows(self, caller: Caller, verb: str, path: str) -> tuple[bool, str]:
        """Return whether ``caller`` may, and the reason if the API server gives one. Raises ReviewError."""
        spec = {
            "user": caller.name,
            "groups": list(caller.groups),
            "uid": caller.uid,
            "extra": dict(caller.extra),
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        status = self._review("authorization.k8s.io/v1", "SubjectAccessReview", spec)
        return bool(status.get("allowed")), str(status.get("reason", ""))

    def _review(self, api_version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Send a review and return its status. Raises ReviewError."""
        path = f"/apis/{api_version}/{kind.lower()}s"
        review = {"apiVersion": api_version, "kind": kind, "spec": spec}
        try:
            if kind not in self._credentials:
                self._credentials[kind] = self._load[kind]()
            payload = request(self._credentials[kind], "POST", path, review, user_agent=self._user_agent)
            status = dict(json.loads(payload)["status"])
        except (RequestFailedError, CredentialsError) as error:
            self._trouble.failing(f"callers of the endpoints cannot be identified by {kind}", str(error))
            raise ReviewError(f"{kind} failed") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ReviewError(f"the response to a {kind} is malformed") from error
        self._trouble.recovered()
        return status


MASTERS = "system:masters"
CACHED_REVIEWS = 1024
REVIEWS_AT_ONCE = 40
REVIEWS_PER_SECOND = 4.0
"""The reviews that one address may cause. A collector that reads three pages every 15 seconds causes four each time."""
ADDRESSES = 1024
"""Of so many addresses it is known how many reviews they have caused."""


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


class TooManyReviewsError(Exception):
    """An address has caused as many reviews as it may, and has to wait for ``seconds``."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many reviews; the next one in {seconds:g} s")
        self.seconds = seconds


class ReviewLimits:
    """The reviews that each address may still cause: a token bucket for each. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """When an address may cause ``REVIEWS_AT_ONCE`` again."""

    def take(self, address: str) -> None:
        """Count a review that ``address`` causes. Raises TooManyReviewsError if it may not cause another one."""
        with self._lock:
            now = self._clock()
            full_at = max(now, self._full_at.get(address, now)) + 1 / REVIEWS_PER_SECOND
            wait = full_at - now - REVIEWS_AT_ONCE / REVIEWS_PER_SECOND
            if wait > 1e-9:
                raise TooManyReviewsError(wait)
            self._full_at[address] = full_at
            self._full_at.move_to_end(address)
            while len(self._full_at) > ADDRESSES:
                self._full_at.popitem(last=False)


class Access:
    """Decides which requests are answered."""

    def __init__(self, reviews: Reviews, rules: AccessRules, clock: Callable[[], float] = time.monotonic) -> None:
        self._reviews = reviews
        self._rules = rules
        self._limits = ReviewLimits(clock)
        self._callers: ReviewCache[Caller | None] = ReviewCache(clock)
        self._verdicts: ReviewCache[tuple[bool, str]] = ReviewCache(clock)

    def needs_review(self, target: str, authorization: str) -> bool:
        """Return whether the API server may have to be asked about the request, whose caller then waits."""
        return bool(bearer_token(authorization)) or not self._rules.always_allow(path_of(target))

    def refuse(
        self, method: str, target: str, authorization: str, certified: Caller | None, address: str = ""
    ) -> EndpointResponse | None:
        """Return the refusal of the request, None if it may pass. ``certified`` is the client certificate's owner.

        As in kube-apiserver's filters, a token that is invalid, or cannot be reviewed, is 401 even for open paths.
        """
        path, verb, rules = path_of(target), method.lower(), self._rules

        def allows(caller: Caller) -> tuple[bool, str]:
            self._limits.take(address)
            return self._reviews.allows(caller, verb, path)

        try:
            # A certificate counts before a token, as in apiserver's DelegatingAuthenticatorConfig.
            caller = certified or self._authenticate(authorization, address)
            if caller is None:
                return unauthorized()
            if rules.always_allow(path) or MASTERS in caller.groups:
                return None
            allowed, reason = self._verdicts.get(
                _digest(caller.name, *caller.groups, caller.uid, verb, path),
                lambda: allows(caller),
                lambda verdict: rules.allowed_seconds if verdict[0] else rules.denied_seconds,
            )
        except AuthenticationError:
            return unauthorized()
        except ReviewError as error:
            return internal_error(str(error))
        except TooManyReviewsError as error:
            message = "your address has sent too many tokens, or asked for too many paths, that are not known here yet"
            return too_many_requests(message, math.ceil(error.seconds))
        return None if allowed else forbidden(caller.name, verb, path, reason)

    def _authenticate(self, authorization: str, address: str) -> Caller | None:
        """Return the owner of the bearer token, None if it is nobody's.

        Raises AuthenticationError and TooManyReviewsError.
        """
        token = bearer_token(authorization)
        if not token:
            return ANONYMOUS

        def review() -> Caller | None:
            self._limits.take(address)
            return self._reviews.caller(token)

        try:
            return self._callers.get(_digest(token), review, lambda _: self._rules.token_seconds)
        except ReviewError as error:
            raise AuthenticationError from error


class AuthenticationError(Exception):
    """The owner of a token cannot be found out."""


def bearer_token(authorization: str) -> str:
    """Return the token of the header ``Authorization``; empty if there is none."""
    kind, _, token = authorization.strip().partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _digest(*texts: str) -> bytes:
    """Return a short key for ``texts``: no token stays readable in our memory, and no long path fills it."""
    return hashlib.sha256(json.dumps(texts).encode()).digest()


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
