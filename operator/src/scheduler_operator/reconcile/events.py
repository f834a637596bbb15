"""Events about profiles, for ``kubectl describe``: what happened to their objects, and who did it."""

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from scheduler_operator.cluster.api import ApiError
from scheduler_operator.cluster.objects import Cluster, Repair
from scheduler_operator.models import API_VERSION
from scheduler_operator.resources.authored import UserObject
from scheduler_operator.resources.text_limits import cut_to_bytes

logger = logging.getLogger(__name__)

NAMESPACE = "default"
"""Where Events about objects without a namespace live."""

QUIET_SECONDS = 60.0
MOST_NOTE_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Happening:
    """What an Event tells."""

    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str


class Recorder:
    """Tells about repairs, at most once a minute about the same object and the same manager, and about what stalls."""

    def __init__(self, cluster: Cluster, identity: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._identity = identity
        self._clock = clock
        self._told: dict[tuple[str, str, str], float] = {}

    async def repaired(self, profile: UserObject, repair: Repair) -> None:
        """Post an Event about ``repair``; one that cannot be posted is logged instead."""
        now = self._clock()
        self._told = {key: at for key, at in self._told.items() if now - at < QUIET_SECONDS}
        key = (repair.kind, repair.name, repair.manager)
        if key in self._told:
            return
        self._told[key] = now
        await self._post(self._event(profile, Happening("Warning", "DriftRepaired", "Apply", note(repair))))

    async def turned(self, authored: UserObject, status: Mapping[str, Any]) -> None:
        """Post an Event when ``status``, the new one, says that something begins or ends to be stalled."""
        if (happening := turn(authored.status, status)) is not None:
            await self._post(self._event(authored, happening))

    async def _post(self, event: dict[str, Any]) -> None:
        try:
            await self._cluster.post(event)
        except ApiError as error:
            logger.warning("cannot post the event %r: %s", event["note"], error)

    def _event(self, authored: UserObject, happening: Happening) -> dict[str, Any]:
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{authored.name}.{uuid.uuid4().hex[:16]}", "namespace": NAMESPACE},
            "eventTime": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "reportingController": "berth.dev/operator",
            "reportingInstance": self._identity,
            "type": happening.type,
            "reason": happening.reason,
            "action": happening.action,
            "note": happening.note,
            "regarding": {
                "apiVersion": API_VERSION,
                "kind": authored.kind,
                "name": authored.name,
                "uid": authored.uid,
            },
        }


def turn(before: Mapping[str, Any], after: Mapping[str, Any]) -> Happening | None:
    """What has changed for whoever looks after the object: it is stalled, or it is so no more.

    Another message alone is no change: that of a crash loop is never the same for long.
    """
    stalled, was = _condition(after, "Stalled"), _condition(before, "Stalled")
    if stalled is not None:
        same = was is not None and all(was[field] == stalled[field] for field in ("reason", "observedGeneration"))
        return None if same else Happening("Warning", stalled["reason"], "Reconcile", _short(stalled["message"]))
    ready = _condition(after, "Ready")
    if was is None or ready is None:
        return None
    reason = "Recovered" if ready["status"] == "True" else ready["reason"]
    return Happening("Normal", reason, "Reconcile", _short(f"no longer stalled: {ready['message']}"))


def _condition(status: Mapping[str, Any], of: str) -> Mapping[str, Any] | None:
    return next((each for each in status.get("conditions", ()) if each["type"] == of), None)


def note(repair: Repair) -> str:
    """The sentence that says what was repaired."""
    text = f"{repair.manager} changed {repair.kind} {repair.name}: {', '.join(repair.fields)}. It was changed back"
    return _short(text)


def _short(text: str) -> str:
    """``text`` on a line, and no longer than an Event holds."""
    return cut_to_bytes(" ".join(text.split()), MOST_NOTE_BYTES)
