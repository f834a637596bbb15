"""The API server's answer to /version, and versions that this build does not know."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from scheduler_runtime import config
from scheduler_runtime.app import startup
from scheduler_runtime.app.server_version import explain_fallback, explain_refusal, read_server_version
from scheduler_runtime.app.settings import NotReadyError, SchedulerSettings
from scheduler_runtime.catalog import NEWEST_MINOR, OLDEST_MINOR, Version
from scheduler_runtime.component.https import ServingSettings
from scheduler_runtime.config import Document
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.reload.document_sources import ObjectName
from scheduler_runtime.reload.plan import DocumentText
from tests.support.kubeconfigs import kubeconfig
from tests.support.scripted import Answer, Script, granting, hangs, refuses, says, serving


async def html(request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>log in</html>")


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(says({}), id="nothing"),
        pytest.param(says([]), id="a-list"),
        pytest.param(says({"gitVersion": None}), id="null"),
        pytest.param(says({"gitVersion": "main"}), id="no-version"),
        pytest.param(html, id="html"),
    ],
)
async def test_an_odd_answer_is_logged_once_and_requested_again(odd: Any, caplog: pytest.LogCaptureFixture) -> None:
    script = Script([odd, odd, says({"gitVersion": "v1.36.4"})])
    async with serving(script) as client:
        assert await read_server_version(client, asyncio.Event(), Backoff(0.01)) == Version(1, 36, 4)
        (line,) = (record.getMessage() for record in caplog.records)
        assert line.startswith(f"the API server's version cannot be read: {client.server}/version: ")
    assert "\n" not in line
    assert caplog.records[0].exc_info is None


async def test_a_process_that_shuts_down_waits_for_no_answer() -> None:
    stop = asyncio.Event()

    async def stops_meanwhile(request: web.Request) -> web.StreamResponse:
        stop.set()
        return await hangs(request)

    async with serving(Script([stops_meanwhile])) as client, asyncio.timeout(20):
        assert await read_server_version(client, stop) is None


def test_versions_that_this_build_does_not_know() -> None:
    versions = [Version.parse(OLDEST_MINOR), Version.parse(f"{NEWEST_MINOR}.99")]
    assert [explain_refusal(version) + explain_fallback(version) for version in versions] == ["", ""]
    assert explain_refusal(Version(1, 20)).endswith(f"it knows {OLDEST_MINOR} to {NEWEST_MINOR}")
    assert explain_fallback(Version(1, 99)).endswith(f"it is taken as {NEWEST_MINOR}")


SOURCE = f"plugins: {{X: {{configMap: {{name: x, key: x.py, sha256: '{64 * '0'}'}}}}}}"


@pytest.mark.parametrize(
    ("answer", "version", "extras", "message"),
    [
        pytest.param(
            says({"gitVersion": "v1.20.1"}),
            None,
            "",
            f"v1.20.1 is older .* {OLDEST_MINOR} to {NEWEST_MINOR}; --kubernetes",
            id="too-old",
        ),
        pytest.param(
            says({"metadata": {}, "data": {"x.py": ""}}), "1.36", SOURCE, "x: plugin X: .*and not 0000", id="wrong-code"
        ),
        pytest.param(refuses(404), "1.36", SOURCE, "x: plugin X: ConfigMap n/x: cannot be read: 404", id="no-code"),
    ],
)
async def test_what_is_wrong_at_the_start_ends_the_process_in_one_line(
    answer: Answer, version: str | None, extras: str, message: str, tmp_path: Path
) -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    document = config.load(text)
    assert isinstance(document, Document)
    async with serving(Script(otherwise=granting(answer))) as client:
        settings = SchedulerSettings(
            source="x",
            text=DocumentText(text, extras),
            document=document,
            kubeconfig=str(kubeconfig(tmp_path, client.server)),
            version=Version.parse(version) if version else None,
            feature_gates={},
            serving=ServingSettings(address="127.0.0.1", port=0),
            user_agent="tests",
            pod=ObjectName("n", "p"),
            allows_plugin_sources=True,
        )
        with pytest.raises(NotReadyError, match=message):
            await startup.run(settings)
