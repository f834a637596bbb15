"""Renewals of Leases, by our own clock."""

from typing import Any

import pytest

from scheduler_operator.cluster.generated_objects import GeneratedObjects
from scheduler_operator.cluster.lease_renewals import LeaseRenewals
from scheduler_operator.resources import kinds

NAME = "berth-calm"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def renewals(clock: Clock) -> LeaseRenewals:
    return LeaseRenewals(clock)


def lease(holder: str = "a", renewed: str = "2026-01-01T00:00:00Z", **more: Any) -> dict[str, Any]:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed, **more}
    return {"metadata": {"name": NAME}, "spec": spec}


def test_a_holder_that_renews_is_not_silent(renewals: LeaseRenewals, clock: Clock) -> None:
    for second in range(0, 60, 10):
        clock.now = second
        renewals.note(lease(renewed=f"any time {second}"), "calm")
        assert not renewals.is_silent(NAME)
    assert renewals.newly_silent() == []


def test_a_holder_is_silent_when_its_time_has_run_out(renewals: LeaseRenewals, clock: Clock) -> None:
    renewals.note(lease(), "calm")
    clock.now = 10
    renewals.note(lease(), "calm")  # a list shows it once more
    clock.now = 15.5
    assert not renewals.is_silent(NAME)
    clock.now = 16.5
    assert renewals.is_silent(NAME)
    assert renewals.newly_silent() == ["calm"]
    assert renewals.newly_silent() == []


def test_a_holder_that_speaks_again_is_worth_a_look(renewals: LeaseRenewals, clock: Clock) -> None:
    assert not renewals.note(lease(), "calm")
    clock.now = 100
    renewals.newly_silent()
    assert renewals.note(lease(renewed="2026-01-01T00:01:00Z"), "calm")
    assert not renewals.is_silent(NAME)


@pytest.mark.parametrize("held", [lease(""), {"metadata": {"name": NAME}}, {"metadata": {"name": NAME}, "spec": None}])
def test_without_a_holder_nobody_is_silent(renewals: LeaseRenewals, clock: Clock, held: dict[str, Any]) -> None:
    renewals.note(held, "calm")
    clock.now = 100
    assert not renewals.is_silent(NAME)
    assert not renewals.is_silent("never seen")
    assert renewals.newly_silent() == []


def test_a_lease_that_is_deleted_is_forgotten(renewals: LeaseRenewals, clock: Clock) -> None:
    renewals.note(lease(), "calm")
    renewals.forget(NAME)
    clock.now = 100
    assert renewals.newly_silent() == []


def test_renewals_are_noted_although_nobody_looks_at_them() -> None:
    generated = GeneratedObjects()
    generated.renewals = LeaseRenewals(clock := Clock())

    def seen(version: int, renewed: str) -> bool:
        raw = lease(renewed=renewed)
        raw["metadata"] |= {"uid": "1", "resourceVersion": str(version), "labels": {"berth.dev/profile": "calm"}}
        return generated.put(kinds.LEASE, raw)

    assert seen(1, "a")
    clock.now = 14
    assert not seen(2, "b")
    clock.now = 28
    assert not generated.renewals.is_silent(NAME)
    clock.now = 31
    assert generated.renewals.newly_silent() == ["calm"]
    assert seen(3, "c")
    assert not seen(4, "d")
    generated.remove(kinds.LEASE, NAME, "1")
    clock.now = 100
    assert generated.renewals.newly_silent() == []
