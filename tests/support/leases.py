"""A Lease in memory, a clock that the test moves, and candidates for both."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime.kube.leader_election import LeaderCallbacks, LeaderElector, LeaseError, LeaseSettings
from scheduler_runtime.kube.leader_election.lease import LeaseRecord

Lease = dict[str, Any]
WALL = "2026-01-01T00:00:00.000000Z"


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class MemoryLeases:
    """One Lease with the API server's rules: versions must match, what is absent is 404."""

    lease: Lease | None = None
    calls: list[str] = field(default_factory=list)
    faults: dict[str, list[Exception | Callable[[], object]]] = field(default_factory=dict)

    def get(self, timeout: float) -> Lease:
        self._called("get")
        if self.lease is None:
            raise LeaseError("not found", 404)
        return copy.deepcopy(self.lease)

    def create(self, lease: Lease, timeout: float) -> Lease:
        self._called("create")
        if self.lease is not None:
            raise LeaseError("already exists", 409)
        return self._store(lease, 1)

    def update(self, lease: Lease, timeout: float) -> Lease:
        self._called("update")
        if self.lease is None:
            raise LeaseError("not found", 404)
        version = self.lease["metadata"]["resourceVersion"]
        if lease["metadata"].get("resourceVersion") != version:
            raise LeaseError("the object has been modified", 409)
        return self._store(lease, int(version) + 1)

    @property
    def record(self) -> LeaseRecord:
        assert self.lease is not None
        return LeaseRecord.from_lease(self.lease)

    def write(self, record: LeaseRecord) -> None:
        """Write as another candidate does."""
        lease = self.lease or {"metadata": {"name": "bar", "resourceVersion": "0"}}
        self._store(record.onto(lease), int(lease["metadata"]["resourceVersion"]) + 1)

    def _store(self, lease: Lease, version: int) -> Lease:
        self.lease = copy.deepcopy(lease)
        self.lease["metadata"]["resourceVersion"] = str(version)
        return copy.deepcopy(self.lease)

    def _called(self, verb: str) -> None:
        self.calls.append(verb)
        for fault in self.faults.get(verb, [])[:1]:
            self.faults[verb].pop(0)
            if isinstance(fault, Exception):
                raise fault
            fault()


def settings(**changes: Any) -> LeaseSettings:
    return LeaseSettings(**{"namespace": "foo", "name": "bar", "identity": "baz", **changes})


def candidate(
    leases: MemoryLeases,
    clock: Callable[[], float] = time.monotonic,
    *,
    on_started: Callable[[], None] = lambda: None,
    on_stopped: Callable[[], None] = lambda: None,
    on_restored: Callable[[str, str], None] = lambda *_: None,
    **changes: Any,
) -> LeaderElector:
    callbacks = LeaderCallbacks(on_started=on_started, on_stopped=on_stopped, on_restored=on_restored)
    return LeaderElector(settings(**changes), leases, callbacks, clock=clock)


def led_by(holder: str, seconds: int = 15, transitions: int = 0) -> MemoryLeases:
    leases = MemoryLeases()
    leases.write(LeaseRecord(holder, seconds, WALL, WALL, transitions))
    return leases


def attempt(elector: LeaderElector, clock: Clock) -> bool:
    return elector.try_acquire_or_renew(clock() + 10)
