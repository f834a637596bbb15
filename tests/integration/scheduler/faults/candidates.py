"""Schedulers that want the same Lease, each behind a proxy of its own, so that it is known who sent what and when.

What they say of themselves and what the proxies saw is on one clock, the machine's monotonic one.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster import Cluster
from tests.integration.scheduler.support import ApiView, SchedulerProcess, scheduler
from tests.support.proxy import Proxy, every, is_binding, proxied, slowed


@dataclass
class CandidateScheduler:
    """One scheduler and its way to the API server."""

    process: SchedulerProcess
    proxy: Proxy

    @property
    def leads_since(self) -> float | None:
        """When it sent what made it the leader; None when it has not been yet."""
        return self._time_logged(r"INFO leading: .* monotonic_from=(\S+)")

    @property
    def led_until(self) -> float | None:
        """When it stopped believing that it leads; None when it has not, or could not say so."""
        return self._time_logged(r"INFO led with lease .* monotonic_to=(\S+)")

    def _time_logged(self, pattern: str) -> float | None:
        match = re.search(pattern, self.process.log)
        return float(match[1]) if match else None


@contextlib.asynccontextmanager
async def candidates(
    there: ApiView, directory: Path, count: int, config: Mapping[str, Any], bind_seconds: float = 0.2
) -> AsyncIterator[list[CandidateScheduler]]:
    """So many schedulers that know the cluster, one of which leads. Their bindings take a while."""
    async with contextlib.AsyncExitStack() as stack:
        started = [
            await stack.enter_async_context(candidate(there.cluster, directory / f"candidate-{number}", config))
            for number in range(count)
        ]
        for one in started:
            one.proxy.rules[:] = [every(1, is_binding, slowed(bind_seconds))]
        await there.until(lambda: all(one.process.lines(" synced ") for one in started), 60)
        await there.until(lambda: any(one.process.is_scheduling for one in started), 60)
        yield started


@contextlib.asynccontextmanager
async def candidate(cluster: Cluster, directory: Path, config: Mapping[str, Any]) -> AsyncIterator[CandidateScheduler]:
    directory.mkdir()  # noqa: ASYNC240  nobody waits for it
    async with proxied(cluster, directory) as proxy:
        with scheduler(directory, directory / "kubeconfig", config) as process:
            yield CandidateScheduler(process, proxy)


async def leader_of(there: ApiView, others: list[CandidateScheduler], seconds: float = 60) -> CandidateScheduler:
    """The one of these that leads and knows the cluster, as soon as there is one."""
    await there.until(lambda: any(other.process.is_scheduling for other in others), seconds)
    return next(other for other in others if other.process.is_scheduling)


def out_of_turn(all_of_them: list[CandidateScheduler]) -> list[str]:
    """The bindings that came from one that did not lead yet, or when another had begun to lead since."""
    began = [one.leads_since for one in all_of_them if one.leads_since is not None]
    stray_bindings = []
    for one in all_of_them:
        since = float("inf") if one.leads_since is None else one.leads_since
        until = min((other for other in began if other > since), default=float("inf"))
        stray = [at for at in one.proxy.arrivals if not since <= at < until]
        stray_bindings += [f"at {at:.3f} from who led from {since} to {until}" for at in stray]
    return stray_bindings


async def check(there: ApiView, all_of_them: list[CandidateScheduler], count: int) -> None:
    """Every pod is bound, none twice, nothing overcommitted, and all bindings came from who led then."""
    bound = Counter(pod for one in all_of_them for pod, _, status in one.proxy.bindings if status == 201)
    assert len(await there.bound()) == count
    assert set(bound.values()) == {1}
    assert await there.overcommitted() == []
    strays = out_of_turn(all_of_them)
    assert not strays, strays
