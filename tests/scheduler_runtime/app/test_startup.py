"""A whole process, as it is asked from outside."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from devcluster.system.ports import free_port
from scheduler_runtime import config
from scheduler_runtime.app import startup
from scheduler_runtime.app.settings import SchedulerSettings
from scheduler_runtime.catalog import Version
from scheduler_runtime.config import Document
from scheduler_runtime.reload.document_sources import DocumentFiles
from scheduler_runtime.reload.plan import DocumentText
from scheduler_runtime.serving.https import AccessRules, ServingSettings
from tests.support.kubeconfigs import kubeconfig
from tests.support.pages import get
from tests.support.scripted import Script, hangs, served

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
