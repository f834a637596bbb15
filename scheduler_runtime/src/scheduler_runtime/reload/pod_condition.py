"""A condition of this process's own pod, which the operator reads there: what it reports of its document, or its work.

Writing it is tried again until it succeeds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime

from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.scheduling.reporting.pod_reporter import STRATEGIC_MERGE_PATCH

logger = logging.getLogger(__name__)


class OwnPodCondition:
    """Writes the latest version of one condition into the pod's status; those that a newer one replaced are skipped."""

    def __init__(self, client: Client, namespace: str, name: str, *, least_seconds: float = 0.0) -> None:
        """``least_seconds`` pass between two versions that are written."""
        self._client = client
        self._pod = f"{namespace}/{name}"
        self._path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        self._least_seconds = least_seconds
        self._latest: Mapping[str, str] = {}
        self._changed = asyncio.Event()
        self._trouble = LogOnce(logger)

    def set(self, condition: Mapping[str, str]) -> None:
        """Replace the condition, given without the time of its change, as soon as the API server allows."""
        self._latest = condition
        self._changed.set()

    async def run(self) -> None:
        """Write until cancelled."""
        backoff = Backoff(0.5, 30.0)
        written: Mapping[str, str] = {}
        while True:
            await self._changed.wait()
            self._changed.clear()
            latest = self._latest
            if latest == written:
                continue
            body = {"status": {"conditions": [{**latest, "lastTransitionTime": now()}]}}
            try:
                await self._client.request("PATCH", self._path, body=body, content_type=STRATEGIC_MERGE_PATCH)
            except (ApiError, NoResponseError) as error:
                self._trouble.failing(f"{latest['type']} of pod {self._pod} cannot be written", str(error))
                self._changed.set()  # again, with the version that is the latest after the pause
                await asyncio.sleep(backoff.next_delay())
            except Exception:
                logger.exception("%s of pod %s cannot be written", latest["type"], self._pod)
            else:
                written = latest
                self._trouble.recovered()
                backoff.reset()
                await asyncio.sleep(self._least_seconds)


def now() -> str:
    """Return the time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
