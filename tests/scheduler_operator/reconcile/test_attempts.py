"""Attempts to reconcile: what the work queue, the log and the metrics are told."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

import pytest

from scheduler_operator.cluster.api import RequestError
from scheduler_operator.cluster.changes import note_applied, note_deleted
from scheduler_operator.reconcile.attempts import Attempts
from scheduler_operator.reconcile.reconciler import Key

KEY = Key("SchedulerProfile", "packing")
FOREIGN = {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:data": {"f:x": {}}}}


def live(kind: str, version: str, uid: str = "1", *, foreign: bool = False) -> dict[str, Any]:
    managed = [FOREIGN] if foreign else []
    metadata = {"name": "berth-packing", "uid": uid, "resourceVersion": version, "managedFields": managed}
    return {"kind": kind, "metadata": metadata}


class Scripted:
    """A reconciler that does what it is told, and metrics that list what they count."""

    def __init__(self, act: Callable[[], bool] = lambda: True, *, is_listed: bool = True) -> None:
        self.is_ready = is_listed
        self.act = act
        self.drift: list[str] = []
        clock = iter(range(100))
        self.attempts = Attempts(cast("Any", self), self, lambda: float(next(clock)))

    def count_drift(self, kind: str) -> None:
        self.drift.append(kind)

    async def reconcile(self, key: Key) -> bool:
        assert key == KEY
        (result,) = await asyncio.gather(asyncio.to_thread(self.act))  # in another task, as several requests are sent
        return result

    def attempt(self) -> str:
        return asyncio.run(self.attempts.attempt(KEY))


def raising(error: Exception) -> Callable[[], bool]:
    def act() -> bool:
        raise error

    return act


@pytest.mark.parametrize(
    ("act", "result"),
    [
        pytest.param(lambda: True, "success", id="settled"),
        pytest.param(lambda: False, "requeue", id="not-settled"),
        pytest.param(raising(RequestError("GET /x", 500, "Oops", "later")), "error", id="refused"),
        pytest.param(raising(KeyError("x")), "panic", id="bug"),
    ],
)
def test_an_attempt_ends_as(act: Callable[[], bool], result: str) -> None:
    assert Scripted(act).attempt() == result


def test_before_everything_is_listed_nothing_is_decided() -> None:
    assert Scripted(raising(AssertionError("reconciled")), is_listed=False).attempt() == "requeue"


def test_an_error_is_logged_once_while_it_stays_the_same_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    scripted = Scripted(raising(RequestError("GET /x", 500, "Oops", "later")))
    for _ in range(3):
        scripted.attempt()
    scripted.act = lambda: True
    for _ in range(2):
        scripted.attempt()
    assert caplog.messages == [
        "SchedulerProfile packing: trying again later: GET /x: 500 Oops: later",
        "SchedulerProfile packing: reconciled after all",
    ]


def test_whatever_was_changed_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def change() -> bool:
        applied = {"was_made": False, "is_shared": False}
        note_applied(None, live("ConfigMap", "1"), **applied)
        note_applied(None, live("Service", "1"), was_made=True, is_shared=False)
        note_applied(live("Role", "1"), live("Role", "1"), **applied)
        note_applied(live("ClusterRole", "1"), live("ClusterRole", "2"), **applied)
        note_applied(live("Lease", "1", foreign=True), live("Lease", "2"), was_made=True, is_shared=True)
        note_applied(live("Deployment", "1", foreign=True), live("Deployment", "2"), **applied)
        note_deleted(live("RoleBinding", "1"))
        note_applied(live("RoleBinding", "1"), live("RoleBinding", "2", uid="2"), **applied)
        return False

    scripted = Scripted(change)
    scripted.attempt()
    (record,) = caplog.records
    assert record.getMessage() == "reconciled"
    told = ("object", "added", "changed", "repaired", "restored", "deleted", "seconds")
    assert {name: vars(record)[name] for name in told} == {
        "object": "SchedulerProfile/packing",
        "added": ["ConfigMap/berth-packing", "RoleBinding/berth-packing"],
        "changed": ["ClusterRole/berth-packing", "Lease/berth-packing"],
        "repaired": ["Deployment/berth-packing"],
        "restored": ["Service/berth-packing"],
        "deleted": ["RoleBinding/berth-packing"],
        "seconds": 1.0,
    }
    assert sorted(scripted.drift) == ["Deployment", "Service"]


def test_what_was_changed_before_an_error_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def fail() -> bool:
        note_applied(None, live("ConfigMap", "1"), was_made=False, is_shared=False)
        raise RequestError("PATCH /x", 500, "Oops", "later")

    Scripted(fail).attempt()
    assert [record.getMessage() for record in caplog.records][1:] == ["reconciled"]
    assert vars(caplog.records[1])["added"] == ["ConfigMap/berth-packing"]


def test_a_look_that_changes_nothing_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    Scripted(lambda: True).attempt()
    assert caplog.messages == []
