"""The status of an object that people write, and when each of its conditions last changed."""

from collections.abc import Mapping
from typing import Any

Status = dict[str, Any]
Condition = dict[str, Any]


def dated(status: Status, before: Mapping[str, Any], now: str) -> Status:
    """``status`` with the times at which its conditions last changed; ``before`` is the status until now."""
    known = {each["type"]: each for each in before.get("conditions", [])}
    return {**status, "conditions": [_dated(each, known.get(each["type"]), now) for each in status["conditions"]]}


def _dated(condition: Condition, before: Mapping[str, Any] | None, now: str) -> Condition:
    unchanged = before is not None and before["status"] == condition["status"]
    return {**condition, "lastTransitionTime": before["lastTransitionTime"] if before and unchanged else now}
