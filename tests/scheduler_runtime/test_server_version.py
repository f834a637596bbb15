"""What is made of the API server's answer to /version."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from scheduler_runtime import config, running
from scheduler_runtime.backoff import Backoff
from scheduler_runtime.catalog import NEWEST, OLDEST, Version
from scheduler_runtime.config import Document
from scheduler_runtime.following import Found
from scheduler_runtime.listening import Listening
from scheduler_runtime.server_version import refusal, remark, server_version
from scheduler_runtime.settings import NotReadyError, Settings
from tests.support.kubeconfigs import kubeconfig
from tests.support.scripted import Script, says, serving


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


def test_versions_outside_of_what_is_known() -> None:
    known = [Version.parse(OLDEST), Version.parse(f"{NEWEST}.99")]
    assert [refusal(version) + remark(version) for version in known] == ["", ""]
    assert refusal(Version(1, 20)).endswith(f"it knows {OLDEST} to {NEWEST}")
    assert remark(Version(1, 99)).endswith(f"it is taken as {NEWEST}")


async def test_an_api_server_that_is_too_old_ends_the_process_in_one_line(tmp_path: Path) -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    document = config.load(text)
    assert isinstance(document, Document)
    async with serving(Script(otherwise=says({"gitVersion": "v1.20.1"}))) as client:
        settings = Settings(
            source="x",
            found=Found(text),
            document=document,
            kubeconfig=str(kubeconfig(tmp_path, client.server)),
            version=None,
            feature_gates={},
            listening=Listening(address="127.0.0.1", port=0),
            user_agent="tests",
        )
        with pytest.raises(NotReadyError, match=f"v1.20.1 is older .* {OLDEST} to {NEWEST}; --kubernetes"):
            await running.run(settings)
