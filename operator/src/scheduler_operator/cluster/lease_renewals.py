"""Renewals of the schedulers' Leases, as they were seen here: a leader that has died renews its Lease no more.

The times in a Lease are of its holder's clock, which may be wrong. So only our own clock counts, as in an election: a
holder is silent when its Lease has not changed for as long as it says.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LATE_SECONDS = 1.0
"""How much later than it was sent a renewal may be seen."""


@dataclass(slots=True)
class _Renewal:
    """The last change of one Lease."""

    profile: str
    record: tuple[str, str]
    """Its holder and the holder's time."""
    seconds: float
    """How long the holder may be silent."""
    seen_at: float
    is_reported: bool = False

    def is_silent(self, now: float) -> bool:
        return bool(self.record[0]) and now - self.seen_at > self.seconds + LATE_SECONDS


class LeaseRenewals:
    """When each Lease was last seen to change."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._renewals: dict[str, _Renewal] = {}

    def note(self, lease: Mapping[str, Any], profile: str) -> bool:
        """Note a Lease as it is now; return whether its holder speaks again after it was reported as silent."""
        name, spec = lease["metadata"]["name"], lease.get("spec") or {}
        record = str(spec.get("holderIdentity") or ""), str(spec.get("renewTime") or "")
        before = self._renewals.get(name)
        if before is not None and before.record == record:
            return False
        seconds = spec.get("leaseDurationSeconds")
        self._renewals[name] = _Renewal(
            profile, record, float(seconds) if isinstance(seconds, int) else 0.0, self._clock()
        )
        return before is not None and before.is_reported

    def forget(self, name: str) -> None:
        """Forget a Lease that was deleted."""
        self._renewals.pop(name, None)

    def is_silent(self, name: str) -> bool:
        """Return whether the holder of the Lease called ``name`` has not renewed it in time; False if unknown."""
        renewal = self._renewals.get(name)
        return renewal is not None and renewal.is_silent(self._clock())

    def newly_silent(self) -> list[str]:
        """Return the profiles whose leaders have become silent since the last call."""
        now = self._clock()
        silent = [renewal for renewal in self._renewals.values() if not renewal.is_reported and renewal.is_silent(now)]
        for renewal in silent:
            renewal.is_reported = True
        return [renewal.profile for renewal in silent]
