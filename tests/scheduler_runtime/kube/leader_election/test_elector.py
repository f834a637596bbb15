"""The rules of an election, judged with a Lease in memory and a clock that the test moves.

Beside the cases of our own these are client-go's, by their names; those with threads of their own are in
``test_running_elector``:

* TestTryAcquireOrRenewLeases: acquire from no object; … from object without annotations (metadata only); … from
  led object with the lease duration seconds; … from unled object; … from led, unacked object; … from empty led,
  acked object; don't acquire from led, acked object; renew already acquired object.
* TestFastPathLeaderElection: exercise fast path after lock acquired; fallback to slow path after fast path fails.
* TestReleaseLeaseLeases: release acquired lock from no object. TestReleaseMethodCallsGet.
* TestReleaseOnCancellation_Leases: on cancellation of update; … of get (``test_running_elector``).
* TestLeaseSpecToLeaderElectionRecordRoundTrip, TestLeaderElectionConfigValidation.
* TestLeaderElectionHealthChecker: before leader elector initialized; lease far expired; … but held by another
  server; not expired; expired but inside the timeout. TestCheckMethodRace (``test_running_elector``).

TestTryCoordinatedRenew is about an alpha feature that a Lease's own candidates do not take part in.
"""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest

from scheduler_runtime.kube.leader_election.lease import LeaseRecord, NoLeaseResponseError
from tests.support.leases import WALL, Clock, MemoryLeases, attempt, candidate, led_by, settings

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


def test_acquires_a_led_object_when_its_own_duration_has_passed_since_it_was_first_observed() -> None:
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


def test_releases_a_lease_that_it_holds_but_has_never_looked_at() -> None:
    leases = led_by("baz", transitions=2)
    assert candidate(leases, Clock()).release()
    assert (leases.record.holder, leases.record.transitions) == ("", 2)


def test_a_release_that_somebody_was_faster_than_changes_nothing() -> None:
    leases, clock = led_by("baz"), Clock()
    elector = candidate(leases, clock)
    attempt(elector, clock)
    leases.faults["update"] = [lambda: leases.write(LeaseRecord("bing", 15, WALL, "taken over", 1))]
    assert not elector.release()
    assert leases.record.holder == "bing"


def test_a_released_lease_is_acquired_at_the_next_attempt() -> None:
    leases, clock = led_by("baz"), Clock()
    first, second = candidate(leases, clock), candidate(leases, clock, identity="next")
    attempt(first, clock)
    assert not attempt(second, clock)
    first.release()
    assert attempt(second, clock)


def test_a_lease_created_from_no_object_is_released_without_a_transition() -> None:
    leases, clock = MemoryLeases(), Clock()
    elector = candidate(leases, clock)
    assert attempt(elector, clock)
    assert elector.release()
    assert leases.calls == ["get", "create", "get", "update"]
    assert (elector.leader, leases.record.transitions) == ("", 0)


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
        ({"lease_duration": 876000 * 3600}, "leaseDuration: 3153600000s is more than 2147483647s"),
        ({"retry_period": 0.0}, "retryPeriod: 0s is not greater than zero"),
        ({"identity": ""}, "identity: is empty"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named.replace("×", ".")):
        settings(**changes)


def test_others_wait_for_no_less_than_the_whole_duration() -> None:
    leases, clock = MemoryLeases(), Clock()
    leader = candidate(leases, clock, lease_duration=15.2, renew_deadline=15.1)
    assert attempt(leader, clock)
    other = candidate(leases, clock, identity="other")
    assert not attempt(other, clock)
    clock.now += 15.1
    assert not attempt(other, clock)
    clock.now += 1
    assert attempt(other, clock)


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

    elector = candidate(leases, clock, on_started=started)
    elector.run()
    assert until == [1010.0]
    assert clock.now == 1004.0


def test_safe_time_ends_as_soon_as_another_is_observed_to_hold_the_lease() -> None:
    leases, clock = MemoryLeases(), Clock()
    until: list[float] = []

    def started() -> None:
        leases.write(LeaseRecord("bing", 15, WALL, "taken over", 1))
        assert not attempt(elector, clock)
        until.append(elector.leads_until)
        elector.stop(release=False)

    elector = candidate(leases, clock, on_started=started)
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


def test_a_monotonic_clock_that_leaps_ahead_ends_safe_time_before_anything_is_sent() -> None:
    leases, clock = MemoryLeases(), Clock()
    states: list[tuple[bool, bool]] = []

    def started() -> None:
        states.append((elector.is_leader, elector.leads_until > clock.now))
        clock.now += 3600  # the process was stopped and goes on
        states.append((elector.is_leader, elector.leads_until > clock.now))
        elector.stop(release=False)

    elector = candidate(leases, clock, on_started=started)
    elector.run()
    assert states == [(True, True), (True, False)]


# TestLeaderElectionHealthChecker, TestCheckMethodRace


def test_who_does_not_lead_is_healthy_however_old_the_lease() -> None:
    leases, clock = led_by("bing"), Clock()
    elector = candidate(leases, clock)
    attempt(elector, clock)
    clock.now += 3600
    assert elector.check() is None


def test_nothing_is_sent_when_no_time_remains() -> None:
    leases, clock = MemoryLeases(), Clock()
    assert not candidate(leases, clock).try_acquire_or_renew(clock())
    assert leases.calls == []


def test_the_watchdog_speaks_only_of_a_leader_that_is_long_overdue() -> None:
    leases, clock = MemoryLeases(), Clock()
    checks: list[str | None] = []

    def started() -> None:
        checks.append(elector.check())
        clock.now += 34.9
        checks.append(elector.check())
        clock.now += 0.2
        checks.append(elector.check())
        elector.stop(release=False)

    elector = candidate(leases, clock, on_started=started)
    elector.run()
    assert checks == [None, None, "lease foo/bar: not renewed for 35 s"]
    assert elector.check() is None


def test_that_nobody_answers_is_logged_when_it_does_not_pass(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    leases, clock = MemoryLeases(), Clock()
    elector = candidate(leases, clock)
    lines_logged = list[int]()
    for errors in (["reset"], [], ["reset", "refused", "refused", "late"], []):
        leases.faults = {"get": [NoLeaseResponseError(error) for error in errors]}
        leases.faults["update"] = list(leases.faults["get"])
        for _ in range(max(1, len(errors))):
            attempt(elector, clock)
        lines_logged.append(len(caplog.records))
    assert lines_logged == [0, 0, 1, 2]
    assert caplog.messages == [
        "lease foo/bar: no answer from the API server: refused",
        "over after 0.0 s: lease foo/bar: no answer from the API server",
    ]
