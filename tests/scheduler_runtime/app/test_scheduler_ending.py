"""The lease of a process that shuts down: released, or left to expire."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from scheduler_runtime import config
from scheduler_runtime.app import scheduler
from scheduler_runtime.kube.client import Client
from scheduler_runtime.reload.plan import DocumentText
from tests.support.processes import assembled
from tests.support.scripted import Answer, Script, hangs, says, serving
from tests.support.tiny_cluster import TinyCluster, pod

DOCUMENT = DocumentText(yaml.safe_dump({"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}))


async def run_until_stopped(directory: Path, client: Client, has_bind_request: asyncio.Event) -> int:
    """Run a scheduler until it binds, tell it to end, and return its exit code."""
    process, _ = await assembled(directory, DOCUMENT, client)
    stop = asyncio.Event()
    running = asyncio.create_task(process.run(stop))
    async with asyncio.timeout(10):
        await has_bind_request.wait()
        stop.set()
        return await running


@pytest.mark.parametrize(("binding", "is_released"), [(says({}, 201), True), (hangs, False)])
async def test_the_lease_is_released_unless_a_binding_may_still_be_carried_out(
    tmp_path: Path,
    binding: Answer,
    is_released: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(scheduler, "FINISH_SECONDS", 10 if is_released else 0.1)
    has_bind_request = asyncio.Event()

    async def record(request: web.Request) -> web.StreamResponse:
        has_bind_request.set()
        return await binding(request)

    cluster = TinyCluster(pod("p"), binding=record)
    async with serving(Script(otherwise=cluster.answer)) as client:
        assert await run_until_stopped(tmp_path, client, has_bind_request) == 0
    assert cluster.leases.record.is_released is is_released
    assert ("is not released, others wait until it runs out" in caplog.text) is not is_released
    unfinished = "may still be carried out: bind default/p (bind of plugin DefaultBinder)"
    assert (unfinished in caplog.text) is not is_released
    (start,) = (record for record in caplog.records if record.getMessage() == "starting")
    assert cluster.leases.record.holder == ("" if is_released else vars(start)["identity"])


def test_only_a_few_are_named() -> None:
    longest = scheduler.LONGEST_LIST
    assert scheduler.shorten(["a"]) == "a"
    assert scheduler.shorten(["a"] * (longest + 2)) == f"{', '.join(['a'] * longest)} and 2 more"
