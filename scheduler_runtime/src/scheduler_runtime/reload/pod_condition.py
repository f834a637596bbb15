"""What a scheduler says about the document it runs by: in a condition of its own pod, and at /configz."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from scheduler_runtime.config import CONDITION, LoadReport
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.scheduling.reporting.pod_conditions import STRATEGIC_MERGE_PATCH

logger = logging.getLogger(__name__)


class ConfigCondition:
    """The condition of the pod that this process runs in; the newest is written, however long that takes."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._called = f"{namespace}/{name}"
        self._path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        self._newest: LoadReport | None = None
        self._news = asyncio.Event()
        self._trouble = LogOnce(logger)

    def say(self, loaded: LoadReport) -> None:
        """Write that instead of what was said before."""
        self._newest = loaded
        self._news.set()

    async def run(self) -> None:
        """Write until cancelled."""
        backoff = Backoff(0.5, 30.0)
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._write()
            except (ApiError, NoResponseError) as error:
                self._trouble.failing(f"{CONDITION} of pod {self._called} cannot be written", str(error))
                self._news.set()
                await asyncio.sleep(backoff.next_delay())
            else:
                self._trouble.recovered()
                backoff.reset()

    async def _write(self) -> None:
        if self._newest is None:
            return
        condition = {**self._newest.condition(), "lastTransitionTime": now()}
        body = {"status": {"conditions": [condition]}}
        await self._client.request("PATCH", self._path, body=body, content_type=STRATEGIC_MERGE_PATCH)


def now() -> str:
    """The time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
