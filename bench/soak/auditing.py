"""The audit log of the API server: each scheduler's bindings and other requests, and the leader at any time."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

BINDINGS = {"level": "Metadata", "resources": [{"group": "", "resources": ["pods/binding"]}]}
WRITES = {
    "level": "Metadata",
    "userGroups": ["system:serviceaccounts:kube-system"],
    "verbs": ["create", "patch", "delete"],
    "resources": [
        {"group": "", "resources": ["pods", "pods/status", "events"]},
        {"group": "events.k8s.io", "resources": ["events"]},
    ],
}
"""The other requests of the schedulers."""
LEASES = {"level": "Request", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]}
OTHERS = {"level": "None"}
READS = {"level": "None", "verbs": ["get", "list", "watch"]}
LARGEST_MB = 100_000
"""Otherwise the API server begins another file after 100 MB, before all of the first is read."""
METHODS = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}
SCHEDULERS = "system:serviceaccount:kube-system:"


class User(msgspec.Struct):
    username: str


class Reference(msgspec.Struct):
    resource: str
    subresource: str = ""
    name: str = ""
    uid: str = ""


class Answer(msgspec.Struct):
    code: int


class Record(msgspec.Struct, rename="camel"):
    """One request, when it was answered."""

    user: User
    verb: str
    object_ref: Reference
    response_status: Answer
    request_received_timestamp: datetime
    stage_timestamp: datetime
    request_object: dict[str, Any] = {}

    @property
    def sender(self) -> str:
        return self.user.username.removeprefix(SCHEDULERS)

    @property
    def kind(self) -> Answered:
        of = self.object_ref
        resource = f"{of.resource}/{of.subresource}" if of.subresource else of.resource
        return Answered(self.sender, METHODS.get(self.verb, self.verb), resource, self.response_status.code)

    @property
    def succeeded(self) -> bool:
        return self.response_status.code < 300


@dataclass(frozen=True, slots=True)
class Handover:
    """A change of the leader."""

    leader: str
    at: datetime


@dataclass(slots=True)
class Audit:
    """The audit log of one API server, read as it grows."""

    directory: Path
    wrong: list[str] = field(default_factory=list)
    answered: Counter[Answered] = field(default_factory=Counter)
    """The number of requests of each kind."""
    handovers: list[Handover] = field(default_factory=list)
    _bound: set[str] = field(default_factory=set)
    _holder: str = ""
    _offset: int = 0
    _decode: msgspec.json.Decoder[Record] = field(default_factory=lambda: msgspec.json.Decoder(Record))

    def __post_init__(self) -> None:
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "omitManagedFields": True,
            "rules": [READS, BINDINGS, LEASES, WRITES, OTHERS],
        }
        self._policy.write_text(json.dumps(policy))

    @property
    def apiserver_args(self) -> tuple[str, ...]:
        """The arguments that the API server needs."""
        return (
            f"--audit-log-path={self._file}",
            f"--audit-log-maxsize={LARGEST_MB}",
            f"--audit-policy-file={self._policy}",
        )

    @property
    def bound(self) -> Counter[str]:
        """The number of pods that each sender has bound."""
        senders = {kind.sender for kind in self.answered}
        return +Counter({sender: self.sent(sender).bound for sender in senders})

    @property
    def refused(self) -> Counter[int]:
        """The number of bindings that were refused, by status."""
        counts: Counter[int] = Counter()
        for kind, many in self.answered.items():
            if kind.resource == BINDING and kind.code >= 300:
                counts[kind.code] += many
        return counts

    def sent(self, sender: str) -> Sent:
        """The requests of one sender so far."""
        return Sent(Counter({kind: many for kind, many in self.answered.items() if kind.sender == sender}))

    def read(self) -> None:
        """Enter the new lines of the log."""
        with self._file.open("rb") as file:
            file.seek(self._offset)
            new = file.read()
        lines = new[: new.rfind(b"\n") + 1]
        self._offset += len(lines)
        for line in lines.splitlines():
            self.enter(self._decode.decode(line))

    def enter(self, record: Record) -> None:
        """Enter one request, after those that were answered before it."""
        if record.object_ref.resource == "leases":
            self._lease(record)
            return
        self.answered[record.kind] += 1
        if record.kind.resource == BINDING and record.succeeded:
            self._binding(record)

    def _lease(self, record: Record) -> None:
        """Enter a request for the schedulers' lease (not one of a node). An empty holder gives the lease up."""
        if not record.succeeded or not record.user.username.startswith(SCHEDULERS):
            return
        holder = record.request_object["spec"].get("holderIdentity") and record.sender
        if holder and holder != self._holder:
            self.handovers.append(Handover(holder, record.stage_timestamp))
        self._holder = holder or ""

    def _binding(self, record: Record) -> None:
        pod = record.object_ref
        if not pod.uid:
            self.wrong.append(f"pod {pod.name} was bound by {record.sender} without its uid")
        elif pod.uid in self._bound:
            self.wrong.append(f"pod {pod.name} was bound again by {record.sender}")
        self._bound.add(pod.uid)
        last = self.handovers[-1] if self.handovers else None
        if last and last.leader != record.sender and record.request_received_timestamp > last.at:
            late = (record.request_received_timestamp - last.at).total_seconds()
            self.wrong.append(f"pod {pod.name} was bound by {record.sender} {late:.2f} s after {last.leader} led")

    @property
    def _policy(self) -> Path:
        return self.directory / "policy.json"

    @property
    def _file(self) -> Path:
        return self.directory / "audit.log"


BINDING = "pods/binding"


class Answered(NamedTuple):
    """A kind of writing requests, other than those for leases."""

    sender: str
    method: str
    resource: str
    code: int


@dataclass(frozen=True, slots=True)
class Sent:
    """The requests of one sender since some moment."""

    answered: Counter[Answered] = field(default_factory=Counter)

    def since(self, before: Sent) -> Sent:
        return Sent(self.answered - before.answered)

    @property
    def by_method(self) -> Counter[tuple[str, str]]:
        """The number of requests, by method and status."""
        counts: Counter[tuple[str, str]] = Counter()
        for kind, count in self.answered.items():
            counts[kind.method, str(kind.code)] += count
        return counts

    @property
    def bound(self) -> int:
        """The number of pods that were bound."""
        return self._count(BINDING, range(300))

    @property
    def refused(self) -> int:
        """The number of bindings that were refused."""
        return self._count(BINDING, range(300, 600))

    @property
    def unknown(self) -> int:
        """The number of refused bindings that may have been carried out nevertheless: the API server failed."""
        return self._count(BINDING, range(500, 600))

    @property
    def evicted(self) -> int:
        """The number of pods that were deleted."""
        return self._count("pods", range(300))

    def _count(self, resource: str, codes: range) -> int:
        return sum(count for kind, count in self.answered.items() if kind.resource == resource and kind.code in codes)
