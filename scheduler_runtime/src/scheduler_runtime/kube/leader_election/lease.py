"""The Lease of an election: its record as it is read and written, and the requests for it.

The requests are blocking, on a connection that nothing else uses.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import platform
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

from scheduler_runtime.kube.blocking_client import new_connection
from scheduler_runtime.kube.credentials import Credentials, CredentialsError

JITTER = 1.2
"""The random part of a pause between attempts, at most, in retry periods: client-go's JitterFactor."""
LONGEST_SECONDS = 2**31 - 1
"""The longest duration that a Lease can say: it is an int32."""
RELEASED_SECONDS = 1
"""The duration that marks a lease as released: the shortest that the API server accepts."""
Lease = dict[str, Any]
"""A Lease as JSON."""


class LeaseError(Exception):
    """A request about the Lease failed; ``status`` is the HTTP status, 0 without a response."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class NoLeaseResponseError(LeaseError):
    """There was no response, or none in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """Settings of one election: the Lease, the identity of this candidate, and three times in seconds.

    The constructor raises ValueError, naming the setting, for times with which an election cannot work.
    """

    namespace: str
    name: str
    identity: str
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        for setting in ("namespace", "name", "identity"):
            if not getattr(self, setting):
                raise ValueError(f"{setting}: is empty; an election needs it")
        if self.retry_period <= 0:
            raise ValueError(f"retryPeriod: {self.retry_period:g}s is not greater than zero")
        if self.lease_duration < 1:
            raise ValueError(f"leaseDuration: {self.lease_duration:g}s is less than 1s, the least a Lease can say")
        if self.duration_seconds > LONGEST_SECONDS:
            raise ValueError(
                f"leaseDuration: {self.lease_duration:.0f}s is more than {LONGEST_SECONDS}s, the most a Lease can say"
            )
        if self.lease_duration <= self.renew_deadline:
            raise ValueError(
                f"leaseDuration: {self.lease_duration:g}s is not greater than renewDeadline {self.renew_deadline:g}s"
            )
        if self.renew_deadline <= JITTER * self.retry_period:
            raise ValueError(
                f"renewDeadline: {self.renew_deadline:g}s is not greater than "
                f"{JITTER} × retryPeriod {self.retry_period:g}s"
            )

    @property
    def key(self) -> str:
        """Namespace and name, for messages."""
        return f"{self.namespace}/{self.name}"

    @property
    def duration_seconds(self) -> int:
        """leaseDuration as a Lease stores it: in whole seconds, rounded up.

        Others wait for this long. Rounded down it could end before our own lease_duration does.
        """
        return math.ceil(self.lease_duration)

    @property
    def request_timeout(self) -> float:
        """The longest that one request may take: short enough for a second try before the deadline."""
        return self.renew_deadline / 2


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The part of a Lease's spec that an election reads and writes, times as they are on the wire."""

    holder: str = ""
    duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    transitions: int = 0

    @classmethod
    def from_lease(cls, lease: Mapping[str, Any]) -> LeaseRecord:
        """Read a Lease, which may have no spec yet."""
        spec = lease.get("spec") or {}
        return cls(
            holder=spec.get("holderIdentity") or "",
            duration_seconds=spec.get("leaseDurationSeconds") or 0,
            acquire_time=spec.get("acquireTime") or "",
            renew_time=spec.get("renewTime") or "",
            transitions=spec.get("leaseTransitions") or 0,
        )

    @property
    def is_released(self) -> bool:
        """True if its last holder gave it up, which is stored as a lease of one second without a holder."""
        return not self.holder and self.duration_seconds == RELEASED_SECONDS

    @property
    def was_emptied(self) -> bool:
        """True if it had a holder that did not release it but was removed, for example by hand."""
        return not self.holder and not self.is_released and bool(self.acquire_time or self.transitions)

    def onto(self, lease: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``lease`` with this record written into it and everything else kept."""
        spec = dict(lease.get("spec") or {})
        spec["holderIdentity"] = self.holder
        spec["leaseDurationSeconds"] = self.duration_seconds
        spec["leaseTransitions"] = self.transitions
        for name, instant in (("acquireTime", self.acquire_time), ("renewTime", self.renew_time)):
            if instant:
                spec[name] = instant
            else:
                spec.pop(name, None)
        return {**lease, "spec": spec}


def wall_time() -> str:
    """Return the time of day in the format of a Lease. It is for people: no decision depends on it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def process_name(environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the pod this process runs in, by ``POD_NAME``; outside a pod, that of the machine."""
    return environment.get("POD_NAME") or platform.node()


def unique_identity(environment: Mapping[str, str] = os.environ) -> str:
    """Return an identity for a candidate, different for each process."""
    return f"{process_name(environment)}_{uuid.uuid4()}"


class HttpLeaseClient:
    """Reads and writes one Lease. A request that fails closes its connection."""

    def __init__(self, credentials: Credentials, namespace: str, name: str, user_agent: str = "berth") -> None:
        self._credentials = credentials
        root = urlsplit(credentials.server).path
        self._collection = f"{root}/apis/coordination.k8s.io/v1/namespaces/{quote(namespace)}/leases"
        self._object = f"{self._collection}/{quote(name)}"
        self._user_agent = user_agent
        self._idle: http.client.HTTPConnection | None = None

    def get(self, timeout: float) -> Lease:
        """Return the Lease. Raises LeaseError."""
        return self._request("GET", self._object, None, timeout)

    def create(self, lease: Lease, timeout: float) -> Lease:
        """Create the Lease and return it as stored. Raises LeaseError, also when it exists already."""
        return self._request("POST", self._collection, lease, timeout)

    def update(self, lease: Lease, timeout: float) -> Lease:
        """Replace the Lease and return it as stored. Raises LeaseError, also when another version is stored by now."""
        return self._request("PUT", self._object, lease, timeout)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        idle, self._idle = self._idle, None
        if idle:
            idle.close()

    def _request(self, method: str, path: str, body: Lease | None, timeout: float) -> Lease:
        # A request that the elector gave up still runs in its thread. So the connection is taken out while a request
        # uses it, and comes back only if the response was in time: the next request never shares it.
        idle, self._idle = self._idle, None
        connection = idle or new_connection(self._credentials, timeout)
        deadline = time.monotonic() + timeout
        try:
            headers = {"Accept": "application/json", "User-Agent": self._user_agent, **self._credentials.headers()}
            if body is not None:
                headers["Content-Type"] = "application/json"
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(timeout)  # one that was open already has the timeout of the request before
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            status, payload = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise NoLeaseResponseError(f"{method} failed: {str(error) or type(error).__name__}") from error
        except CredentialsError as error:
            connection.close()
            raise LeaseError(str(error)) from error
        if status == http.HTTPStatus.UNAUTHORIZED:
            self._credentials.reject_token()
        if time.monotonic() < deadline:
            self._idle = connection
        else:
            connection.close()
        try:
            lease: Any = json.loads(payload)
        except (ValueError, RecursionError):
            lease = None
        if not isinstance(lease, dict):
            raise LeaseError(f"{method} answered {status} with something that is not an object", status)
        if status not in (http.HTTPStatus.OK, http.HTTPStatus.CREATED):
            raise LeaseError(f"{method} answered {status}: {lease.get('message', '')}", status)
        return lease
