"""What is made of the API server's answer to /version."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from scheduler_runtime import config
from scheduler_runtime.app import startup as running
from scheduler_runtime.app.server_version import refusal, remark, server_version
from scheduler_runtime.app.settings import NotReadyError, Settings
from scheduler_runtime.catalog import NEWEST_MINOR, OLDEST_MINOR, Version
from scheduler_runtime.config import Document
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.reload.document_sources import ObjectName
from scheduler_runtime.scheduling.plan import DocumentText
from scheduler_runtime.serving.https import ServingSettings
from tests.support.kubeconfigs import kubeconfig
from tests.support.scripted import Answer, Script, hangs, refuses, says, serving


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
async def test_an_odd_answer_is_said_in_one_line_and_asked_for_again(
    odd: Any, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script([odd, odd, says({"gitVersion": "v1.36.4"})])
    async with serving(script) as client:
        assert await server_version(client, asyncio.Event(), Backoff(0.01)) == Version(1, 36, 4)
        (said,) = (record.getMessage() for record in caplog.records)
        assert said.startswith(f"the API server's version cannot be read: {client.server}/version: ")
    assert "\n" not in said
    assert caplog.records[0].exc_info is None


async def test_who_is_told_to_end_waits_for_no_answer() -> None:
    stop = asyncio.Event()

    async def told_to_end_meanwhile(request: web.Request) -> web.StreamResponse:
        stop.set()
        return await hangs(request)

    async with serving(Script([told_to_end_meanwhile])) as client, asyncio.timeout(20):
        assert await server_version(client, stop) is None


def test_versions_outside_of_what_is_known() -> None:
    known = [Version.parse(OLDEST_MINOR), Version.parse(f"{NEWEST_MINOR}.99")]
    assert [refusal(version) + remark(version) for version in known] == ["", ""]
    assert refusal(Version(1, 20)).endswith(f"it knows {OLDEST_MINOR} to {NEWEST_MINOR}")
    assert remark(Version(1, 99)).endswith(f"it is taken as {NEWEST_MINOR}")


SOURCE = f"plugins: {{X: {{configMap: {{name: x, key: x.py, sha256: '{64 * '0'}'}}}}}}"


@pytest.mark.parametrize(
    ("answer", "version", "extras", "said"),
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
    answer: Answer, version: str | None, extras: str, said: str, tmp_path: Path
) -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    document = config.load(text)
    assert isinstance(document, Document)
    async with serving(Script(otherwise=answer)) as client:
        settings = Settings(
            source="x",
            text=DocumentText(text, extras),
            document=document,
            kubeconfig=str(kubeconfig(tmp_path, client.server)),
            version=Version.parse(version) if version else None,
            feature_gates={},
            serving=ServingSettings(address="127.0.0.1", port=0),
            user_agent="tests",
            pod=ObjectName("n", "p"),
        )
        with pytest.raises(NotReadyError, match=said):
            await running.run(settings)
