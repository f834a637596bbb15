"""Changes of a status that are worth an Event."""

from typing import Any

import pytest

from scheduler_operator.reconcile.events import stall_change
from scheduler_operator.resources.user_object import Status
from scheduler_runtime.kube.events import NOTE_BYTES


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
