"""Leader election record of a Lease, as it is read and written, and the settings of an election."""

from __future__ import annotations

import math
import os
import platform
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

JITTER = 1.2
"""The random part of a pause between attempts, at most, in retry periods: client-go's JitterFactor."""
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
