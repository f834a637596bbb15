"""Changes of a status that are worth an Event, and lines of the log about them."""

import asyncio
import logging
from typing import Any, cast

import pytest

from scheduler_operator.cluster.apply import Repair
from scheduler_operator.reconcile.events import ProfileEvents, stall_change
from scheduler_operator.resources.user_object import Status
from scheduler_runtime.kube.events import NOTE_BYTES
from tests.scheduler_operator.builders import profile


def status(stalled: str = "", reason: str = "Invalid", generation: int = 1, ready: str = "True") -> Status:
    more = {"reason": reason, "observedGeneration": generation}
    conditions: list[dict[str, Any]] = [{"type": "Ready", "status": ready, "message": "2 of 2 are ready", **more}]
    if stalled:
        conditions.append({"type": "Stalled", "message": stalled, **more})
    return {"conditions": conditions}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, status("is odd"), ("Warning", "Invalid", "is odd"), id="stalled-at-once"),
        pytest.param(status(), status("2:\n  - a\n  - b"), ("Warning", "Invalid", "2: - a - b"), id="on-a-line"),
        pytest.param(status("a"), status("b", reason="NameTaken"), ("Warning", "NameTaken", "b"), id="another-reason"),
        pytest.param(status("a"), status("b", generation=2), ("Warning", "Invalid", "b"), id="changed-and-still-wrong"),
        pytest.param(
            status("a"), status(), ("Normal", "Recovered", "no longer stalled: 2 of 2 are ready"), id="recovered"
        ),
        pytest.param(
            status("a"),
            status(ready="False", reason="RollingOut"),
            ("Normal", "RollingOut", "no longer stalled: 2 of 2 are ready"),
            id="not-there-yet",
        ),
        pytest.param(status("after 10 s"), status("after 20 s"), None, id="the-same"),
        pytest.param(status(), status(), None, id="never-stalled"),
        pytest.param({}, status(), None, id="new"),
    ],
)
def test_an_event_tells_that_a_status_turned(before: Status, after: Status, expected: Any) -> None:
    result = stall_change(before, after)
    assert (result and (result.type, result.reason, result.note)) == expected


def test_a_note_is_no_longer_than_an_event_holds() -> None:
    result = stall_change({}, status("x" * 5000))
    assert result is not None
    assert NOTE_BYTES - 3 < len(result.note.encode()) <= NOTE_BYTES


class Posted:
    """A cluster that takes Events."""

    async def post(self, event: dict[str, Any]) -> None:
        pass


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    return [(record.getMessage(), vars(record)["object"], vars(record)["note"]) for record in caplog.records]


def test_a_profile_that_stalls_and_recovers_is_a_line_each(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    events = ProfileEvents(cast("Any", Posted()), "me")
    for before, after in (({}, status("is odd")), (status("is odd"), status("is odd")), (status("is odd"), status())):
        asyncio.run(events.record_ready_change(profile("packing", status=before), after))
    assert lines(caplog) == [
        ("Invalid", "SchedulerProfile/packing", "is odd"),
        ("Recovered", "SchedulerProfile/packing", "no longer stalled: 2 of 2 are ready"),
    ]


def test_who_changes_an_object_is_a_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    now = 0.0
    events = ProfileEvents(cast("Any", Posted()), "me", lambda: now)
    repair = Repair("Deployment", "berth-packing", "kubectl-edit", ("spec.replicas",))
    for now in (0.0, 1.0, 61.0):  # noqa: B007 - it is the clock
        asyncio.run(events.record(profile("packing"), repair))
    note = "kubectl-edit changed Deployment berth-packing: spec.replicas. It was changed back"
    assert lines(caplog) == [("DriftRepaired", "SchedulerProfile/packing", note)] * 2
