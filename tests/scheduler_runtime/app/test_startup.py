"""A whole process, as it is asked from outside."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from devcluster.system.ports import free_port
from scheduler_runtime import config
from scheduler_runtime.app import startup
from scheduler_runtime.app.flags import Overrides
from scheduler_runtime.app.settings import NotReadyError, SchedulerSettings
from scheduler_runtime.catalog import Version
from scheduler_runtime.component.https import AccessRules, ServingSettings
from scheduler_runtime.config import Document, Problems
from scheduler_runtime.reload.document_sources import DocumentFiles, ObjectName, OwnConfigMap
from scheduler_runtime.reload.plan import DocumentText, Plan
from tests.support.kubeconfigs import kubeconfig
from tests.support.pages import get
from tests.support.scripted import Script, granting, hangs, served, serving

TEXT = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
"""


def settings(file: Path, server: str, port: int) -> SchedulerSettings:
    """What a process is started with that follows ``file`` and shows every page to anybody."""
    document = config.load(TEXT)
    assert isinstance(document, Document)
    file.write_text(TEXT)
    return SchedulerSettings(
        source=str(file),
        text=DocumentText(TEXT),
        document=document,
        kubeconfig=str(kubeconfig(file.parent, server)),
        version=Version.parse("v1.36.4"),
        feature_gates={},
        serving=ServingSettings(address="127.0.0.1", port=port, rules=AccessRules(allowed_paths=("/*",))),
        user_agent="tests",
        files=DocumentFiles(str(file), "", 0.02),
    )


@contextlib.asynccontextmanager
async def process(file: Path) -> AsyncIterator[int]:
    """Run one beside an API server that does not answer; the port of its pages."""
    port = free_port()
    async with served(Script(otherwise=hangs)) as url:
        task = asyncio.create_task(startup.run(settings(file, url, port)))
        try:
            yield port
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_file_that_names_code_of_yesterday_is_read_from_the_config_map_that_it_was_made_of(
    tmp_path: Path,
) -> None:
    source = {"name": "prices", "key": "prices.py", "sha256": "0" * 64}
    old, new = (
        DocumentText(TEXT, yaml.safe_dump(extras)) for extras in ({"plugins": {"X": {"configMap": source}}}, {})
    )

    def config_map(text: DocumentText) -> dict[str, Any]:
        return {"metadata": {"name": "berth-a"}, "data": {"config.yaml": text.text, "berth.yaml": text.extras}}

    items = [config_map(new)]

    async def answer(request: web.Request) -> web.StreamResponse:
        body = {"items": items} if request.path.endswith("/configmaps") else config_map(new)
        return web.json_response(body)

    async with serving(Script(otherwise=granting(answer))) as client:
        started = replace(
            settings(tmp_path / "config.yaml", client.server, 0),
            text=old,
            allows_plugin_sources=True,
            config_map=ObjectName("n", "berth-a"),
        )
        planner = startup.create_planner(started, Version.parse("v1.36.4"), client)
        followed = OwnConfigMap(client, "n", "berth-a")
        assert (await startup.first_plan(started, planner, followed)).text == new
        items[0]["data"]["config.yaml"] = "nonsense"
        with pytest.raises(NotReadyError, match=r"^ConfigMap n/berth-a: "):
            await startup.first_plan(started, planner, followed)
        items[0] = config_map(old)
        with pytest.raises(NotReadyError, match=r"config.yaml: plugin X: ConfigMap n/prices: has no prices.py$"):
            await startup.first_plan(started, planner, followed)
        items.clear()
        with pytest.raises(NotReadyError, match=r"config.yaml: plugin X: ConfigMap n/prices: has no prices.py$"):
            await startup.first_plan(started, planner, followed)


async def test_a_document_that_comes_later_names_no_credentials_either(tmp_path: Path) -> None:
    started = replace(
        settings(tmp_path / "config.yaml", "https://127.0.0.1:1", 0), overrides=Overrides(refuses_kubeconfig=True)
    )
    async with serving(Script(otherwise=hangs)) as client:
        planner = startup.create_planner(started, Version.parse("v1.36.4"), client)
        assert isinstance(await planner.plan(DocumentText(TEXT)), Plan)
        refused = await planner.plan(DocumentText(f"{TEXT}clientConnection: {{kubeconfig: /etc/berth/e.yaml}}\n"))
    assert isinstance(refused, Problems)
    assert [problem.path for problem in refused] == ["clientConnection.kubeconfig"]


async def shows(port: int, line: str) -> None:
    """Wait until /metrics has the line."""
    async with asyncio.timeout(10):
        while True:
            with contextlib.suppress(OSError):  # it is not served yet
                if line in (await asyncio.to_thread(get, port, "/metrics", scheme="https"))[1].splitlines():
                    return
            await asyncio.sleep(0.02)


async def test_metrics_of_a_process_tell_whether_its_document_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    async with process(file) as port:
        await shows(port, 'berth_document_not_followed{why="refused"} 0')
        file.write_bytes(b"\xff")
        await shows(port, 'berth_document_not_followed{why="refused"} 1')
        await shows(port, f'berth_document_refusals_total{{source="{file}"}} 1')
