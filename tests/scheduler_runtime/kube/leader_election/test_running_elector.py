"""Electors that run in threads, with short times of their own: what hangs, fails or is stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from scheduler_runtime.kube.leader_election import LeaderCallbacks, LeaderElector, LeaseError
from scheduler_runtime.kube.leader_election.lease import LeaseRecord
from tests.support.eventually import eventually
from tests.support.leases import WALL, Clock, MemoryLeases, candidate, settings


@dataclass
class Running:
    elector: LeaderElector
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

    def start(leases: MemoryLeases, identity: str = "baz", **changes: float) -> Running:
        started, stopped, leaders = threading.Event(), threading.Event(), list[str]()
        elector = LeaderElector(
            settings(
                **{"lease_duration": 1.0, "renew_deadline": 0.8, "retry_period": 0.1, **changes}, identity=identity
            ),
            leases,
            LeaderCallbacks(on_started=started.set, on_stopped=stopped.set, on_new_leader=leaders.append),
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


def test_a_hung_renewal_is_abandoned_and_leadership_ends_at_the_deadline(run: Run) -> None:
    leases, hang = MemoryLeases(), threading.Event()
    leader = run(leases)
    assert leader.started.wait(2)
    leases.faults["update"] = [lambda: hang.wait(10)] * 50
    leases.faults["get"] = [lambda: hang.wait(10)] * 50
    began = time.monotonic()
    assert leader.stopped.wait(3)
    assert time.monotonic() - began < 0.8 + 1.5
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
    eventually(lambda: not leases.faults["update"], 5, every=0.01)
    failed_until = len(leases.calls)
    eventually(lambda: leases.calls[failed_until:].count("update") >= 2, 5, every=0.01)
    assert leader.elector.is_leader
    assert not leader.stopped.is_set()


def test_an_unexpected_error_in_a_request_still_ends_in_on_stopped() -> None:
    leases = MemoryLeases(faults={"get": [RuntimeError("a bug")]})
    stopped: list[bool] = []
    elector = candidate(leases, on_stopped=lambda: stopped.append(True))
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


def test_a_standby_takes_over_after_the_duration_when_the_leader_has_ended(run: Run) -> None:
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


def test_health_is_checked_by_other_threads_while_the_lease_is_won_renewed_and_released(run: Run) -> None:
    """client-go's TestCheckMethodRace: who asks for /livez is answered in a thread of each connection's own.

    Every request for the Lease lasts here until health was asked many times meanwhile.
    """
    leases, checks, ended = MemoryLeases(), list[str | None](), threading.Event()

    def outlasted() -> None:
        before = len(checks)
        while len(checks) < before + 100 and not ended.wait(0.001):
            pass

    def ask() -> None:
        while not ended.wait(0.0002):
            checks.append(leader.elector.check())

    leases.faults = {verb: [outlasted] * 5 for verb in ("get", "create", "update")}
    leader = run(leases, lease_duration=30.0, renew_deadline=20.0)
    askers = [threading.Thread(target=ask) for _ in range(3)]
    for thread in askers:
        thread.start()
    try:
        assert leader.started.wait(5)
        while len(leases.calls) < 5 and not leader.stopped.wait(0.01):
            pass
        leader.elector.stop()
        assert leader.ended()
    finally:
        ended.set()
        for thread in askers:
            thread.join()
    assert leases.calls == ["get", "create", *["update"] * (len(leases.calls) - 4), "get", "update"]
    assert len(checks) >= 100 * 7
    assert set(checks) == {None}


def test_says_on_the_monotonic_clock_from_when_to_when_it_led(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    began = time.monotonic()
    leader = run(MemoryLeases())
    assert leader.started.wait(2)
    leader.elector.stop()
    assert leader.ended()
    values = [vars(one) for one in caplog.records]
    since = [one["monotonic_from"] for one in values if "monotonic_from" in one]
    until = [one["monotonic_to"] for one in values if "monotonic_to" in one]
    assert len(until) == 1
    assert began - 0.001 <= since[0] == since[1] <= until[0] <= time.monotonic() + 0.001


def test_who_lost_the_lease_led_no_longer_than_was_safe(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    leases = MemoryLeases(faults={"update": [LeaseError("no", 500)] * 50})
    leader = run(leases)
    assert leader.started.wait(2)
    leases.faults["get"] = [LeaseError("no", 500)] * 50
    assert leader.stopped.wait(5)
    led = next(vars(one) for one in caplog.records if "monotonic_to" in vars(one))
    assert led["monotonic_to"] - led["monotonic_from"] <= 0.8 + 0.002


def test_who_was_asleep_when_another_took_over_led_until_its_own_safe_time_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    leases, clock = MemoryLeases(), Clock()

    def sleep() -> None:
        clock.now += 60
        leases.write(LeaseRecord("other", 15, WALL, "taken over", 1))
        leases.faults["get"] = [lambda: None, lambda: setattr(clock, "now", clock.now + 1)]

    elector = candidate(leases, clock, on_started=sleep, renew_deadline=0.5, retry_period=0.01)
    elector.run()
    led = next(vars(one) for one in caplog.records if "monotonic_to" in vars(one))
    assert (led["monotonic_from"], led["monotonic_to"]) == (1000.0, 1000.5)


def test_who_sees_that_another_has_the_lease_led_until_then(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    leases, clock = MemoryLeases(), Clock()

    def lose_it() -> None:
        clock.now += 2
        leases.write(LeaseRecord("thief", 15, WALL, "taken", 1))
        leases.faults["get"] = [lambda: None, lambda: setattr(clock, "now", clock.now + 60)]

    elector = candidate(leases, clock, on_started=lose_it, retry_period=0.01)
    elector.run()
    led = next(vars(one) for one in caplog.records if "monotonic_to" in vars(one))
    assert (led["monotonic_from"], led["monotonic_to"]) == (1000.0, 1002.0)


def test_the_term_is_also_logged_as_times_of_day(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    leader = run(MemoryLeases())
    assert leader.started.wait(2)
    leader.elector.stop()
    assert leader.stopped.wait(2)
    led = next(vars(one) for one in caplog.records if "monotonic_to" in vars(one))
    begin, end = (datetime.fromisoformat(led[name]) for name in ("from", "to"))
    assert (end - begin).total_seconds() == pytest.approx(led["monotonic_to"] - led["monotonic_from"], abs=0.5)
    assert abs((datetime.now(UTC) - end).total_seconds()) < 60


def test_the_seconds_until_anothers_lease_is_free() -> None:
    leases, clock = MemoryLeases(), Clock()
    leases.write(LeaseRecord("another", 15, WALL, WALL, 1))
    elector = candidate(leases, clock)
    assert elector.seconds_until_free == 0
    assert not elector.try_acquire_or_renew(clock.now + 5)
    assert elector.seconds_until_free == 15
    clock.now += 20
    assert elector.seconds_until_free == 0


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


def test_who_cannot_do_the_leaders_work_gives_the_lease_up_without_releasing_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leases, stuck = MemoryLeases(), list[str]()
    elector = LeaderElector(
        settings(lease_duration=1.0, renew_deadline=0.8, retry_period=0.05),
        leases,
        LeaderCallbacks(on_started=lambda: stuck.append("nothing has gone on for 61 s"), on_stopped=lambda: None),
        health_check=lambda: stuck[0] if stuck else None,
    )
    elector.run()
    assert (elector.is_leader, elector.leads_until, leases.record.holder) == (False, float("-inf"), "baz")
    assert "gave up lease foo/bar: nothing has gone on for 61 s" in caplog.messages


def test_a_forbidden_create_names_the_missing_right_once(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    leases = MemoryLeases(faults={"create": [LeaseError("forbidden", 403)] * 3})
    assert run(leases).started.wait(3)
    missing = [record.getMessage() for record in caplog.records if "grant create" in record.getMessage()]
    assert missing[:1] == [
        "lease foo/bar: does not exist and may not be created; create it, or grant create on "
        "leases.coordination.k8s.io in namespace foo"
    ]
    assert sum(record.levelname == "WARNING" for record in caplog.records) == 1
