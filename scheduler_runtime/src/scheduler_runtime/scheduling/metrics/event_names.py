"""What upstream calls the things that happen, for the metrics."""

from __future__ import annotations

from functools import cache
from typing import cast

from scheduler_runtime.api import Action, Event, Pod


def event_name(event: Event) -> str:
    """Such as ``NodeAdd`` or ``AssignedPodDelete``."""
    resource = event.resource
    if resource == "Pod":
        pod = cast("Pod | None", event.new or event.old)
        resource = "AssignedPod" if pod is not None and pod.spec.node_name else "UnschedulablePod"
    return f"{resource}{_action(event.action)}"


@cache
def _action(action: Action) -> str:
    """One action by its name; of several the first, as upstream makes an event of each."""
    if action in (Action.UPDATE, Action.ALL):
        return str(action.name).title()
    first = next((each for each in Action if each.value & action.value), Action.UPDATE)
    return "".join(part.title() for part in str(first.name).split("_"))
