"""The rules of an election, judged with a Lease in memory and a clock that the test moves."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from scheduler_runtime.leadership import Elector, LeaseError, LeaseSettings
from scheduler_runtime.leadership.record import LeaseRecord

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


def candidate(leases: MemoryLeases, clock: Callable[[], float] = time.monotonic, **changes: Any) -> Elector:
    return Elector(settings(**changes), leases, clock=clock, on_started=lambda: None, on_stopped=lambda: None)


def led_by(holder: str, seconds: int = 15, transitions: int = 0) -> MemoryLeases:
    leases = MemoryLeases()
    leases.write(LeaseRecord(holder, seconds, WALL, WALL, transitions))
    return leases


def attempt(elector: Elector, clock: Clock) -> bool:
    return elector.attempt(clock() + 10)


# The rows of client-go's TestTryAcquireOrRenewLeases.


def test_acquires_when_there_is_no_object() -> None:
    leases, clock = MemoryLeases(), Clock()
    assert attempt(candidate(leases, clock), clock)
    assert leases.calls == ["get", "create"]
    assert (leases.record.holder, leases.record.transitions, leases.record.duration_seconds) == ("baz", 0, 15)


def test_acquires_an_object_that_has_metadata_only_and_keeps_that_metadata() -> None:
    owner = {"name": "bar", "resourceVersion": "7", "ownerReferences": [{"uid": "1"}], "labels": {"a": "b"}}
    leases, clock = MemoryLeases({"metadata": owner}), Clock()
    assert attempt(candidate(leases, clock), clock)
    assert leases.lease is not None
    assert leases.lease["metadata"] == {**owner, "resourceVersion": "8"}
    assert (leases.record.holder, leases.record.transitions) == ("baz", 1)


def test_acquires_a_led_object_when_its_own_duration_has_passed_since_it_was_first_seen() -> None:
    leases, clock = led_by("bing", seconds=3), Clock()
    elector = candidate(leases, clock)
    assert not attempt(elector, clock)
    clock.now += 2.9
    assert not attempt(elector, clock)
    clock.now += 0.2
    assert attempt(elector, clock)
    assert (leases.record.holder, leases.record.transitions) == ("baz", 1)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(LeaseRecord(), id="acquire-from-unled-object"),
        pytest.param(
            LeaseRecord(duration_seconds=15, renew_time=WALL, transitions=0), id="acquire-from-empty-led-acked"
        ),
        pytest.param(LeaseRecord("bing", 0), id="acquire-from-led-unacked-object"),
    ],
)
def test_acquires_what_nobody_keeps(record: LeaseRecord) -> None:
    leases, clock = MemoryLeases(), Clock()
    leases.write(record)
    assert attempt(candidate(leases, clock), clock)
    assert (leases.record.holder, leases.record.transitions) == ("baz", 1)


def test_does_not_acquire_a_led_and_acked_object() -> None:
    leases, clock = led_by("bing"), Clock()
    elector = candidate(leases, clock)
    for _ in range(5):
        clock.now += 14
        leases.write(LeaseRecord("bing", 15, WALL, f"renewed at {clock.now}"))
        assert not attempt(elector, clock)
    assert elector.leader == "bing"
    assert "update" not in leases.calls


def test_renews_what_it_already_holds_without_counting_a_transition() -> None:
    leases, clock = led_by("baz", transitions=4), Clock()
    elector = candidate(leases, clock)
    assert attempt(elector, clock)
    assert (leases.record.holder, leases.record.transitions, leases.record.acquire_time) == ("baz", 4, WALL)


# TestFastPathLeaderElection


def test_a_leader_renews_with_one_update_and_no_get() -> None:
    leases, clock = MemoryLeases(), Clock()
    elector = candidate(leases, clock)
    attempt(elector, clock)
    leases.calls.clear()
    clock.now += 2
    assert attempt(elector, clock)
    assert leases.calls == ["update"]


def test_a_leader_whose_update_conflicts_reads_and_updates_again() -> None:
    leases, clock = MemoryLeases(), Clock()
    elector = candidate(leases, clock)
    attempt(elector, clock)
    assert leases.lease is not None
    leases.lease["metadata"]["resourceVersion"] = "77"  # somebody labelled the Lease
    leases.calls.clear()
    clock.now += 2
    assert attempt(elector, clock)
    assert leases.calls == ["update", "get", "update"]


def test_a_leader_that_slept_past_its_lease_reads_before_it_writes() -> None:
    leases, clock = MemoryLeases(), Clock()
    elector = candidate(leases, clock)
    attempt(elector, clock)
    leases.write(LeaseRecord("bing", 15, WALL, "taken over", 1))
    leases.calls.clear()
    clock.now += 60
    assert not attempt(elector, clock)
    assert leases.calls == ["get"]
    assert elector.leader == "bing"


# Releasing: TestReleaseLeaseLeases, TestReleaseMethodCallsGet


def test_release_reads_first_and_empties_the_holder() -> None:
    leases, clock = led_by("baz", transitions=3), Clock()
    elector = candidate(leases, clock)
    attempt(elector, clock)
    leases.calls.clear()
    assert elector.release()
    assert leases.calls == ["get", "update"]
    assert (leases.record.holder, leases.record.duration_seconds, leases.record.transitions) == ("", 1, 3)
    assert leases.record.renew_time == leases.record.acquire_time != WALL


@pytest.mark.parametrize(
    "leases", [pytest.param(MemoryLeases(), id="no-object"), pytest.param(led_by("x"), id="other")]
)
def test_release_leaves_alone_what_is_not_ours(leases: MemoryLeases) -> None:
    before = copy.deepcopy(leases.lease)
    assert not candidate(leases, Clock()).release()
    assert leases.lease == before


def test_a_released_lease_is_taken_at_the_next_attempt() -> None:
    leases, clock = led_by("baz"), Clock()
    first, second = candidate(leases, clock), candidate(leases, clock, identity="next")
    attempt(first, clock)
    assert not attempt(second, clock)
    first.release()
    assert attempt(second, clock)


# TestLeaseSpecToLeaderElectionRecordRoundTrip


def test_a_record_survives_the_way_through_a_lease() -> None:
    record = LeaseRecord("foo", 10, WALL, "2026-01-01T00:00:01.000000Z", 1)
    lease = record.onto({"spec": {"strategy": "OldestEmulationVersion"}})
    assert LeaseRecord.from_lease(lease) == record
    assert lease["spec"]["strategy"] == "OldestEmulationVersion"


# TestLeaderElectionConfigValidation


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"lease_duration": 10.0}, "leaseDuration: 10s is not greater than renewDeadline 10s"),
        ({"renew_deadline": 2.4}, "renewDeadline: 2.4s is not greater than 1.2 × retryPeriod 2s"),
        ({"lease_duration": 0.5, "renew_deadline": 0.2, "retry_period": 0.1}, "leaseDuration: 0.5s is less than 1s"),
        ({"retry_period": 0.0}, "retryPeriod: 0s is not greater than zero"),
        ({"identity": ""}, "identity: is empty"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named.replace("×", ".")):
        settings(**changes)


# Fencing and clocks


def test_safe_time_counts_from_sending_and_not_from_the_answer() -> None:
    leases, clock = MemoryLeases(), Clock()
    until: list[float] = []

    def answer_late() -> None:
        clock.now += 4

    leases.faults["create"] = [answer_late]

    def started() -> None:
        until.append(elector.leads_until)
        elector.stop(release=False)

    elector = Elector(settings(), leases, clock=clock, on_started=started, on_stopped=lambda: None)
    elector.run()
    assert until == [1010.0]
    assert clock.now == 1004.0


def test_safe_time_ends_as_soon_as_another_is_seen_to_hold_the_lease() -> None:
    leases, clock = MemoryLeases(), Clock()
    until: list[float] = []

    def started() -> None:
        leases.write(LeaseRecord("bing", 15, WALL, "taken over", 1))
        assert not attempt(elector, clock)
        until.append(elector.leads_until)
        elector.stop(release=False)

    elector = Elector(settings(), leases, clock=clock, on_started=started, on_stopped=lambda: None)
    elector.run()
    assert until == [float("-inf")]


def test_a_wall_clock_that_jumps_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    leases, clock = MemoryLeases(), Clock()
    leader, other = candidate(leases, clock), candidate(leases, clock, identity="other")
    for jump in (0, -86_400, 365 * 86_400, -3 * 365 * 86_400):
        monkeypatch.setattr(time, "time", lambda jump=jump: 1.8e9 + jump)
        clock.now += 5
        assert attempt(leader, clock)
        assert not attempt(other, clock)


def test_nothing_is_sent_when_no_time_is_left() -> None:
    leases, clock = MemoryLeases(), Clock()
    assert not candidate(leases, clock).attempt(clock())
    assert leases.calls == []


def test_the_watchdog_speaks_only_of_a_leader_that_is_long_overdue() -> None:
    leases, clock = MemoryLeases(), Clock()
    said: list[str | None] = []

    def started() -> None:
        said.append(elector.check())
        clock.now += 34.9
        said.append(elector.check())
        clock.now += 0.2
        said.append(elector.check())
        elector.stop(release=False)

    elector = Elector(settings(), leases, clock=clock, on_started=started, on_stopped=lambda: None)
    elector.run()
    assert said == [None, None, "lease foo/bar: not renewed for 35 s"]
    assert elector.check() is None


# Electors that run, with short times of their own


@dataclass
class Running:
    elector: Elector
    thread: threading.Thread
    started: threading.Event
    stopped: threading.Event
    leaders: list[str]

    def ended(self, timeout: float = 5.0) -> bool:
        self.thread.join(timeout)
        return not self.thread.is_alive()


@pytest.fixture
def run() -> Iterator[Callable[[MemoryLeases, str], Running]]:
    running: list[Running] = []

    def start(leases: MemoryLeases, identity: str = "baz") -> Running:
        started, stopped, leaders = threading.Event(), threading.Event(), list[str]()
        elector = Elector(
            settings(identity=identity, lease_duration=1.0, renew_deadline=0.8, retry_period=0.1),
            leases,
            on_started=started.set,
            on_stopped=stopped.set,
            on_new_leader=leaders.append,
        )
        thread = threading.Thread(target=elector.run)
        thread.start()
        running.append(Running(elector, thread, started, stopped, leaders))
        return running[-1]

    yield start
    for one in running:
        one.elector.stop(release=False)
    assert all(one.ended() for one in running)


Run = Callable[..., Running]


def test_a_hung_renewal_is_left_behind_and_leadership_ends_at_the_deadline(run: Run) -> None:
    leases, hang = MemoryLeases(), threading.Event()
    leader = run(leases)
    assert leader.started.wait(2)
    leases.faults["update"] = [lambda: hang.wait(10)] * 50
    leases.faults["get"] = [lambda: hang.wait(10)] * 50
    began = time.monotonic()
    assert leader.stopped.wait(3)
    assert time.monotonic() - began < 0.8 + 0.3 + 0.5
    assert not leader.elector.is_leader
    assert leader.elector.leads_until == float("-inf")
    hang.set()


def test_a_request_that_hangs_once_costs_no_leadership(run: Run) -> None:
    leases, hang = MemoryLeases(), threading.Event()
    leader = run(leases)
    assert leader.started.wait(2)
    leases.faults["update"] = [lambda: hang.wait(5)]
    assert not leader.stopped.wait(1.5)
    assert leader.elector.is_leader
    hang.set()


@pytest.mark.parametrize("status", [0, 401, 409, 429, 500])
def test_leadership_survives_errors_shorter_than_the_deadline(run: Run, status: int) -> None:
    leases = MemoryLeases()
    leader = run(leases)
    assert leader.started.wait(2)
    leases.faults = {"update": [LeaseError("no", status)] * 3, "get": [LeaseError("no", status)]}
    assert not leader.stopped.wait(1.2)
    assert not leases.faults["update"]
    assert leader.elector.is_leader


def test_an_unexpected_error_in_a_request_still_ends_in_on_stopped() -> None:
    leases = MemoryLeases(faults={"get": [RuntimeError("a bug")]})
    stopped: list[bool] = []
    elector = Elector(settings(), leases, on_started=lambda: None, on_stopped=lambda: stopped.append(True))
    with pytest.raises(RuntimeError, match="a bug"):
        elector.run()
    assert stopped == [True]


def test_a_standby_takes_over_soon_after_a_release(run: Run) -> None:
    leases = MemoryLeases()
    first = run(leases, "one")
    assert first.started.wait(2)
    second = run(leases, "two")
    assert not second.started.wait(0.5)
    first.elector.stop()
    assert second.started.wait(2.2 * 0.1 + 0.5)
    assert first.ended()
    assert second.leaders[:1] == ["one"]
    assert second.leaders[-1] == "two"


def test_a_standby_takes_over_after_the_duration_when_the_leader_is_gone(run: Run) -> None:
    leases = MemoryLeases()
    first = run(leases, "one")
    assert first.started.wait(2)
    second = run(leases, "two")
    first.elector.stop(release=False)
    assert not second.started.wait(0.6)
    assert second.started.wait(3)
    assert leases.record.transitions == 1


@pytest.mark.parametrize("verb", ["update", "get"])
def test_stopping_while_a_request_is_under_way_still_releases(run: Run, verb: str) -> None:
    leases, entered, go_on = MemoryLeases(), threading.Event(), threading.Event()

    def pause() -> None:
        entered.set()
        go_on.wait(0.3)

    leader = run(leases)
    assert leader.started.wait(2)
    leases.faults = {"get": [pause], "update": [LeaseError("no", 500)]} if verb == "get" else {"update": [pause]}
    assert entered.wait(2)
    leader.elector.stop()
    go_on.set()
    assert leader.ended()
    assert leases.record.holder == ""


def test_the_lost_lease_is_not_released_from_another(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    leases = MemoryLeases()
    leader = run(leases)
    assert leader.started.wait(2)
    leases.write(LeaseRecord("thief", 60, WALL, WALL, 9))
    assert leader.stopped.wait(3)
    assert leases.record.holder == "thief"
    assert [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == [
        "lost lease foo/bar: held by thief"
    ]


def test_a_forbidden_create_names_the_missing_right_once(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    leases = MemoryLeases(faults={"create": [LeaseError("forbidden", 403)] * 3})
    assert run(leases).started.wait(3)
    missing = [record.getMessage() for record in caplog.records if "grant create" in record.getMessage()]
    assert missing[:1] == [
        "lease foo/bar: does not exist and may not be created; create it, or grant create on "
        "leases.coordination.k8s.io in namespace foo"
    ]
    assert sum(record.levelname == "WARNING" for record in caplog.records) == 1
