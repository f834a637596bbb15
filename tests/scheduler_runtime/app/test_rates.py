"""``clientConnection.qps`` and ``burst`` of a document hold for decisions and for reports, each by itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import yaml

from scheduler_runtime import config
from scheduler_runtime.app import startup
from scheduler_runtime.kube.client import Client
from scheduler_runtime.reload.plan import DocumentText
from scheduler_runtime.scheduling.metrics import Metrics
from tests.support.processes import assembled_with, settings_of
from tests.support.scripted import ReceivedRequest, Script, served
from tests.support.tiny_cluster import TinyCluster, pod

NO_LIMIT = 1000
BURST = 40
FIT = [pod(f"fits-{number}") for number in range(60)]
FIT_NOWHERE = [pod(f"nowhere-{number}", nodeSelector={"there": "is-none"}) for number in range(30)]
QUICK = {"leaderElect": True, "leaseDuration": "10s", "renewDeadline": "8s", "retryPeriod": "200ms"}


def document(**fields: object) -> DocumentText:
    return DocumentText(
        yaml.safe_dump({"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration", **fields})
    )


def waits(client: Client) -> list[float]:
    """How long each of so many requests would wait if they came at the same instant."""
    client._rate_limit._clock = lambda: 0.0
    return [round(client._rate_limit.reserve(), 3) for _ in range(NO_LIMIT)]


@pytest.mark.parametrize(
    ("connection", "at_once", "apart"),
    [
        pytest.param({"qps": 20, "burst": 3}, 3, 0.05, id="as-written"),
        pytest.param({}, 100, 0.02, id="not-written"),
        pytest.param({"qps": 0, "burst": 0}, 100, 0.02, id="zero-is-the-default"),
        pytest.param({"qps": 5}, 100, 0.2, id="only-qps"),
        pytest.param({"burst": 7}, 7, 0.02, id="only-burst"),
        pytest.param({"qps": -1, "burst": 1}, NO_LIMIT, 0, id="negative-is-no-limit"),
    ],
)
async def test_each_client_has_all_of_what_the_document_allows(
    tmp_path: Path, connection: dict[str, float], at_once: int, apart: float
) -> None:
    settings = settings_of(tmp_path, document(clientConnection=connection), "http://unasked")
    later = [round(apart * number, 3) for number in range(1, NO_LIMIT - at_once + 1)]
    async with startup.connect(settings, Metrics()) as clients:
        for client in clients:
            assert waits(client) == pytest.approx([0.0] * at_once + later)


@contextlib.asynccontextmanager
async def at_work(directory: Path, first: DocumentText, server: str) -> AsyncIterator[None]:
    """Run a scheduler with the connections that it has as a process."""
    settings = settings_of(directory, first, server)
    async with startup.connect(settings, Metrics()) as clients:
        process, _ = await assembled_with(settings, clients)
        running = asyncio.create_task(process.run(asyncio.Event()))
        try:
            yield
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await process.underway.finish(0)
            await process.election.stop(release=False, seconds=5)


def purpose(request: ReceivedRequest) -> str:
    """Return what a request is for: the Lease, a report about a pod, or a decision."""
    if "/leases" in request.path:
        return "lease"
    return "report" if "/events" in request.path or request.path.endswith("/status") else "decision"


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  what is waited for is in a thread and behind a server
            await asyncio.sleep(0.01)


async def test_decisions_and_reports_have_a_rate_each_and_the_lease_has_none(tmp_path: Path) -> None:
    """There is more of both than the burst allows; as much is sent of each, and the Lease is renewed meanwhile."""
    script = Script(otherwise=TinyCluster(*FIT, *FIT_NOWHERE).answer)

    def count() -> Counter[str]:
        return Counter(purpose(request) for request in script.received)

    first = document(clientConnection={"qps": 0.001, "burst": BURST}, leaderElection=QUICK)
    async with served(script) as url, at_work(tmp_path, first, url):
        await until(lambda: count()["decision"] >= BURST and count()["report"] >= BURST)
        renewed = count()["lease"]
        await until(lambda: count()["lease"] >= renewed + 5)
    assert (count()["decision"], count()["report"]) == (BURST, BURST)
    assert any(request.path.endswith("/binding") for request in script.received)
