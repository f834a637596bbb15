"""Events about profiles, for ``kubectl describe``: what happened to their objects, and who did it."""

import logging
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from scheduler_operator.api import ApiError
from scheduler_operator.authored import Authored
from scheduler_operator.cluster import Cluster, Repair
from scheduler_operator.models import API_VERSION

logger = logging.getLogger(__name__)

NAMESPACE = "default"
"""Where Events about objects without a namespace live."""

QUIET_SECONDS = 60.0
LONGEST_NOTE = 1024


class Recorder:
    """Tells about repairs, at most once a minute about the same object and the same manager."""

    def __init__(self, cluster: Cluster, identity: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._identity = identity
        self._clock = clock
        self._told: dict[tuple[str, str, str], float] = {}

    async def repaired(self, profile: Authored, repair: Repair) -> None:
        """Post an Event about ``repair``; one that cannot be posted is logged instead."""
        now = self._clock()
        self._told = {key: at for key, at in self._told.items() if now - at < QUIET_SECONDS}
        key = (repair.kind, repair.name, repair.manager)
        if key in self._told:
            return
        self._told[key] = now
        try:
            await self._cluster.post(self._event(profile, repair))
        except ApiError as error:
            logger.warning("cannot post the event %r: %s", note(repair), error)

    def _event(self, profile: Authored, repair: Repair) -> dict[str, Any]:
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{profile.name}.{uuid.uuid4().hex[:16]}", "namespace": NAMESPACE},
            "eventTime": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "reportingController": "berth.dev/operator",
            "reportingInstance": self._identity,
            "type": "Warning",
            "reason": "DriftRepaired",
            "action": "Apply",
            "note": note(repair),
            "regarding": {"apiVersion": API_VERSION, "kind": profile.kind, "name": profile.name, "uid": profile.uid},
        }


def note(repair: Repair) -> str:
    """The sentence that says what was repaired."""
    text = f"{repair.manager} changed {repair.kind} {repair.name}: {', '.join(repair.fields)}. It was changed back"
    return text if len(text) <= LONGEST_NOTE else text[: LONGEST_NOTE - 1] + "…"
