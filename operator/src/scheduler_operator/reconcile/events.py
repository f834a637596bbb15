"""Kubernetes Events, with lines in the log, about profiles: repaired objects, and profiles that stall or recover."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from scheduler_operator.cluster.api import RequestError
from scheduler_operator.cluster.apply import Fight, Removal, Repair
from scheduler_operator.cluster.objects import ClusterObjects
from scheduler_operator.models import API_VERSION
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.kube.events import event_object_name, micro_time, truncate_note

logger = logging.getLogger(__name__)

NAMESPACE = "default"
"""The namespace of Events about cluster-scoped objects."""

QUIET_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class EventText:
    """The content of an Event."""

    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str


class ProfileEvents:
    """Posts Events: about repairs, once a minute for one object and manager at most, and when a profile stalls."""

    def __init__(self, cluster: ClusterObjects, identity: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._identity = identity
        self._clock = clock
        self._posted_at: dict[tuple[str, str, str], float] = {}

    async def record(self, profile: UserObject, change: Repair | Removal | Fight) -> None:
        """Post an Event about ``change``; one that cannot be posted is logged instead."""
        match change:
            case Repair():
                await self._record_repair(profile, change)
            case Fight(kind, name, managers):
                who = ", ".join(managers)
                note = f"{who} changes {kind} {name} as often as it is changed back; from now on that is once a minute"
                await self._post(profile, EventText("Warning", "Contested", "Apply", _fit(note)))
            case Removal(objects):
                names = ", ".join(" ".join(removed) for removed in objects)
                note = _fit(f"removed what the profile does not need any more: {names}")
                await self._post(profile, EventText("Normal", "Removed", "Delete", note))

    async def _record_repair(self, profile: UserObject, repair: Repair) -> None:
        now = self._clock()
        # Forgotten here, because no other moment comes by itself: the mapping must not grow for ever.
        self._posted_at = {key: at for key, at in self._posted_at.items() if now - at < QUIET_SECONDS}
        key = (repair.kind, repair.name, repair.manager)
        if key in self._posted_at:
            return  # two managers that fight over a field would fill the cluster with Events
        self._posted_at[key] = now
        text = f"{repair.manager} changed {repair.kind} {repair.name}: {', '.join(repair.fields)}. It was changed back"
        await self._post(profile, EventText("Warning", "DriftRepaired", "Apply", _fit(text)))

    async def record_ready_change(self, user_object: UserObject, status: Mapping[str, Any]) -> None:
        """Post an Event when, by its new ``status``, the object begins or ceases to be stalled."""
        if (text := stall_change(user_object.status, status)) is not None:
            await self._post(user_object, text)

    async def _post(self, regarding: UserObject, text: EventText) -> None:
        logger.info(text.reason, extra={"object": f"{regarding.kind}/{regarding.name}", "note": text.note})
        now = time.time_ns()
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": event_object_name(regarding.name, now), "namespace": NAMESPACE},
            "eventTime": micro_time(now),
            "reportingController": "berth.dev/operator",
            "reportingInstance": self._identity,
            "type": text.type,
            "reason": text.reason,
            "action": text.action,
            "note": text.note,
            "regarding": {
                "apiVersion": API_VERSION,
                "kind": regarding.kind,
                "name": regarding.name,
                "uid": regarding.uid,
            },
        }
        try:
            await self._cluster.post(event)
        except RequestError as error:
            logger.warning("cannot post the event %r: %s", text.note, error)


def stall_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> EventText | None:
    """Return the Event for a change from status ``before`` to ``after``; None unless stalling began, changed or ended.

    Another message alone is no change: that of a crash loop is never the same for long.
    """
    stalled, stalled_before = _condition(after, "Stalled"), _condition(before, "Stalled")
    if stalled is not None:
        compared = ("reason", "observedGeneration")
        if stalled_before is not None and all(stalled_before[field] == stalled[field] for field in compared):
            return None
        return EventText("Warning", stalled["reason"], "Reconcile", _fit(stalled["message"]))
    ready = _condition(after, "Ready")
    if stalled_before is None or ready is None:
        return None
    reason = "Recovered" if ready["status"] == "True" else ready["reason"]
    return EventText("Normal", reason, "Reconcile", _fit(f"no longer stalled: {ready['message']}"))


def _condition(status: Mapping[str, Any], condition_type: str) -> Mapping[str, Any] | None:
    return next((condition for condition in status.get("conditions", ()) if condition["type"] == condition_type), None)


def _fit(text: str) -> str:
    """Return ``text`` on one line, no longer than an Event may hold."""
    return truncate_note(" ".join(text.split()))
