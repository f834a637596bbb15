"""A process that is told to end: what it leaves behind for whoever leads next."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from scheduler_runtime import config, process
from scheduler_runtime.client import Client
from scheduler_runtime.following import Found
from scheduler_runtime.leadership import LeaseError
from tests.support.leases import MemoryLeases
from tests.support.processes import assembled
from tests.support.scripted import Answer, Script, hangs, listed, refuses, says, serving, watched

DOCUMENT = Found(yaml.safe_dump({"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}))
NODE = {
    "metadata": {"name": "n", "uid": "u", "resourceVersion": "1"},
    "status": {"allocatable": {"cpu": "4", "pods": "9"}},
}
POD = {
    "metadata": {"name": "p", "namespace": "default", "uid": "v", "resourceVersion": "2"},
    "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}]},
}


class Cluster:
    """One node, one pod that waits, and a Lease. Bindings are answered as the test says."""

    def __init__(self, binding: Answer) -> None:
        self.leases = MemoryLeases()
        self.is_asked_to_bind = asyncio.Event()
        self._binding = binding
        self._objects: dict[str, Any] = {"/api/v1/nodes": [NODE], "/api/v1/pods": [POD]}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "/leases" in request.path:
            return await self._lease(request)
        if request.path.endswith("/binding"):
            self.is_asked_to_bind.set()
            return await self._binding(request)
        if request.method != "GET":
            return await says({})(request)
        items = self._objects.get(request.path, [])
        return await (watched() if "watch" in request.query else listed(*items))(request)

    async def _lease(self, request: web.Request) -> web.StreamResponse:
        try:
            match request.method:
                case "GET":
                    lease = self.leases.get(1)
                case "POST":
                    lease = self.leases.create(await request.json(), 1)
                case _:
                    lease = self.leases.update(await request.json(), 1)
        except LeaseError as error:
            return await refuses(error.status)(request)
        return await says(lease)(request)


async def ended(directory: Path, client: Client, cluster: Cluster) -> int:
    """Run a scheduler until it binds, tell it to end, and return its exit code."""
    made, _ = await assembled(directory, DOCUMENT, client)
    stop = asyncio.Event()
    living = asyncio.create_task(made.live(stop))
    async with asyncio.timeout(10):
        await cluster.is_asked_to_bind.wait()
        stop.set()
        return await living


@pytest.mark.parametrize(("binding", "is_released"), [(says({}, 201), True), (hangs, False)])
async def test_the_lease_is_given_up_unless_a_binding_may_still_be_carried_out(
    tmp_path: Path,
    binding: Answer,
    is_released: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(process, "FINISH_SECONDS", 10 if is_released else 0.1)
    cluster = Cluster(binding)
    async with serving(Script(otherwise=cluster.answer)) as client:
        assert await ended(tmp_path, client, cluster) == 0
    assert cluster.leases.record.is_released is is_released
    assert ("is not released, others wait until it runs out" in caplog.text) is not is_released
    left = "may still be carried out: bind default/p (bind of plugin DefaultBinder)"
    assert (left in caplog.text) is not is_released
    (start,) = (record for record in caplog.records if record.getMessage() == "starting")
    assert cluster.leases.record.holder == ("" if is_released else vars(start)["identity"])
