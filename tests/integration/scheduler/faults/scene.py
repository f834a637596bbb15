"""A scheduler behind a proxy, pods that it places while it is disturbed, and what must be true afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster import Cluster
from tests.integration.scheduler.support import ApiView, SchedulerProcess, api, document, lease_of, scheduler
from tests.support.proxy import Act, Proxy, proxied

PODS = 120


@dataclass
class Scene:
    """A scheduler behind a proxy, and the API server past it."""

    there: ApiView
    proxy: Proxy
    process: SchedulerProcess

    async def place(self, seconds: float = 60) -> None:
        """Create pods while the disturbance lasts, wait until all have nodes, and check what came of it."""
        await self.there.create_pods(PODS // 2, "first", cpu="2")
        await self.there.create_pods(PODS // 2, "second", cpu="2")
        await self.there.all_bound(PODS, seconds)
        await self.check()

    async def check(self, count: int = PODS) -> None:
        """So many pods are bound, none twice, and nothing is overcommitted."""
        assert len(await self.there.bound()) == count
        # What was answered when a slow client no longer waited for it is not among these.
        answered = Counter(pod for pod, _, status in self.proxy.bindings if status == 201)
        assert set(answered.values()) == {1}
        assert await self.there.overcommitted() == []
        assert self.process.process.poll() is None
        assert "Traceback" not in self.process.log


@asynccontextmanager
async def scene(
    cluster: Cluster, directory: Path, *rules: Act, config: Mapping[str, Any] | None = None
) -> AsyncIterator[Scene]:
    async with api(cluster) as there, proxied(cluster, directory) as proxy:
        proxy.rules[:] = rules
        with scheduler(directory, directory / "kubeconfig", config or document(lease_of(directory))) as process:
            await there.until(lambda: process.is_scheduling, 30)
            yield Scene(there, proxy, process)
