"""A Lease that somebody edits or deletes by hand, or that comes back from a backup."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scheduler_runtime.kube.leader_election import LeaderElector
from scheduler_runtime.kube.leader_election.lease import LeaseRecord
from tests.support.leases import WALL, Clock, MemoryLeases, attempt, candidate, led_by


def test_a_leader_whose_lease_was_deleted_makes_it_again() -> None:
    leases, clock = MemoryLeases(), Clock()
    elector = candidate(leases, clock)
    attempt(elector, clock)
    leases.lease = None
    clock.now += 2
    assert attempt(elector, clock)
    assert (leases.record.holder, leases.calls[-3:]) == ("baz", ["update", "get", "create"])


def test_a_lease_whose_holder_was_removed_by_hand_is_acquired_anew() -> None:
    leases, clock = MemoryLeases(), Clock()
    elector = candidate(leases, clock)
    attempt(elector, clock)
    leases.write(LeaseRecord("", 15, WALL, WALL, 0))
    clock.now += 2
    assert attempt(elector, clock)
    assert (leases.record.holder, leases.record.transitions) == ("baz", 1)


def observed_leader(clock: Clock) -> tuple[MemoryLeases, LeaderElector]:
    """A lease that bing renewed just now, and a candidate that has seen it do so."""
    leases = led_by("bing", seconds=15)
    other = candidate(leases, clock, identity="other")
    assert not attempt(other, clock)
    return leases, other


def delete(leases: MemoryLeases) -> None:
    leases.lease = None


def make_anew(leases: MemoryLeases) -> None:
    """As the operator does with a Lease that is missing."""
    leases.lease = {"metadata": {"name": "bar", "resourceVersion": "9"}}


def empty(leases: MemoryLeases) -> None:
    leases.write(LeaseRecord("", 15, WALL, WALL, 0))


@pytest.mark.parametrize("harm", [delete, make_anew, empty])
def test_a_lease_that_its_holder_did_not_release_is_not_acquired_before_it_would_have_run_out(
    harm: Callable[[MemoryLeases], None], caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    leases, other = observed_leader(clock)
    harm(leases)
    for _ in range(3):
        clock.now += 4.9
        assert not attempt(other, clock)
    clock.now += 0.4
    assert attempt(other, clock)
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "before it would have run out" in warnings[0]


@pytest.mark.parametrize("seconds", [15, 0], ids=["with-its-duration", "without-it"])
def test_who_starts_when_the_holder_was_removed_from_the_lease_waits_too(
    seconds: int, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    leases = led_by("bing", seconds=15)
    leases.write(LeaseRecord("", seconds, WALL, WALL, 0))
    new = candidate(leases, clock, identity="new")
    for _ in range(3):
        assert not attempt(new, clock)
        clock.now += 4.9
    assert not attempt(new, clock)
    clock.now += 0.4
    assert attempt(new, clock)
    assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [
        "lease foo/bar: was taken from its holder, who may not know; not taken before it would have run out"
    ]


def test_who_saw_the_holder_long_ago_does_not_take_the_lease_from_it_either() -> None:
    clock = Clock()
    leases, other = observed_leader(clock)
    clock.now += 60
    empty(leases)
    assert not attempt(other, clock)
    clock.now += 15
    assert attempt(other, clock)


@pytest.mark.parametrize("harm", [delete, make_anew, empty])
def test_a_leader_gets_its_own_lease_back_at_once_and_says_so(
    harm: Callable[[MemoryLeases], None], caplog: pytest.LogCaptureFixture
) -> None:
    leases, clock = MemoryLeases(), Clock()
    reasons: list[str] = []
    leader, other = (
        candidate(leases, clock, identity=identity, on_restored=lambda word, _: reasons.append(word))
        for identity in ("baz", "other")
    )
    assert attempt(leader, clock)
    assert not attempt(other, clock)
    harm(leases)
    clock.now += 2
    assert not attempt(other, clock)
    assert attempt(leader, clock)
    assert leases.record.holder == "baz"
    clock.now += 2
    assert attempt(leader, clock)
    assert reasons == ["LeaseMadeAgain" if harm is delete else "LeaseTakenAgain"]
    assert len([one for one in caplog.messages if "while we held it" in one or "took us out" in one]) == 1


def test_a_duration_that_is_shortened_by_hand_counts_at_once() -> None:
    clock = Clock()
    leases, other = observed_leader(clock)
    leases.write(LeaseRecord("bing", 3600, WALL, WALL, 0))
    assert not attempt(other, clock)
    leases.write(LeaseRecord("bing", 5, WALL, WALL, 0))
    assert not attempt(other, clock)
    clock.now += 5.1
    assert attempt(other, clock)


def test_an_older_record_from_a_backup_is_waited_for_like_a_new_one() -> None:
    clock = Clock()
    leases, other = observed_leader(clock)
    clock.now += 14
    leases.lease = led_by("long-gone", seconds=15).lease
    assert not attempt(other, clock)
    clock.now += 14.9
    assert not attempt(other, clock)
    clock.now += 0.2
    assert attempt(other, clock)


def test_a_duration_edited_by_hand_is_what_the_others_wait() -> None:
    leases, clock = led_by("bing", seconds=15), Clock()
    elector = candidate(leases, clock)
    attempt(elector, clock)
    leases.write(LeaseRecord("bing", 3600, WALL, WALL, 0))
    clock.now += 20
    assert not attempt(elector, clock)
    clock.now += 3599
    assert not attempt(elector, clock)
    clock.now += 2
    assert attempt(elector, clock)


def test_a_lease_without_anything_in_it_is_acquired() -> None:
    leases, clock = (
        MemoryLeases({"metadata": {"resourceVersion": "3"}, "spec": {"leaseDurationSeconds": None}}),
        Clock(),
    )
    assert attempt(candidate(leases, clock), clock)
