"""The condition ``berth.dev/ConfigLoaded`` of this process's own pod: which document is in force, and since when.

The operator reads it there. Writing it is tried again until it succeeds.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from scheduler_runtime.config import CONDITION, LoadReport
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.scheduling.reporting.pod_reporter import STRATEGIC_MERGE_PATCH

logger = logging.getLogger(__name__)


class ConfigCondition:
    """Writes the latest report into the pod's status; reports that a newer one replaced are skipped."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._pod = f"{namespace}/{name}"
        self._path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        self._latest: LoadReport | None = None
        self._changed = asyncio.Event()
        self._trouble = LogOnce(logger)

    def set(self, report: LoadReport) -> None:
        """Replace the condition by that of ``report``, as soon as the API server allows."""
        self._latest = report
        self._changed.set()

    async def run(self) -> None:
        """Write until cancelled."""
        backoff = Backoff(0.5, 30.0)
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._latest is None:
                continue
            condition = {**self._latest.condition(), "lastTransitionTime": now()}
            body = {"status": {"conditions": [condition]}}
            try:
                await self._client.request("PATCH", self._path, body=body, content_type=STRATEGIC_MERGE_PATCH)
            except (ApiError, NoResponseError) as error:
                self._trouble.failing(f"{CONDITION} of pod {self._pod} cannot be written", str(error))
                self._changed.set()  # again, with the report that is the latest after the pause
                await asyncio.sleep(backoff.next_delay())
            except Exception:
                logger.exception("%s of pod %s cannot be written", CONDITION, self._pod)
            else:
                self._trouble.recovered()
                backoff.reset()


def now() -> str:
    """Return the time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
