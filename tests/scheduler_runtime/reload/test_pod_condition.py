"""The condition of a scheduler's own pod is written, however long that takes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from scheduler_runtime import config
from scheduler_runtime.config import LoadReport
from scheduler_runtime.reload.pod_condition import OwnPodCondition
from tests.support.scripted import Script, refuses, serving

LOADED = LoadReport("4f" * 32, "2026-01-01T00:00:00Z")


@contextlib.asynccontextmanager
async def pod(script: Script, least_seconds: float = 0.0) -> AsyncIterator[OwnPodCondition]:
    async with serving(script) as client:
        condition = OwnPodCondition(client, "n", "berth-a-x", least_seconds=least_seconds)
        task = asyncio.create_task(condition.run())
        try:
            yield condition
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def patches(script: Script, times: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(10):
        while len(script.received) < times:  # noqa: ASYNC110  what is waited for is a list
            await asyncio.sleep(0.01)
    return [request.body["status"]["conditions"][0] for request in script.received]


async def test_it_is_a_condition_of_the_pods_status() -> None:
    script = Script()
    async with pod(script) as own:
        own.set(LOADED.condition())
        (condition,) = await patches(script, 1)
    assert (script.received[0].method, script.received[0].path) == (
        "PATCH",
        "/api/v1/namespaces/n/pods/berth-a-x/status",
    )
    assert script.received[0].content_type == "application/strategic-merge-patch+json"
    assert config.read_load_report([condition]) == LOADED
    assert condition["lastTransitionTime"]


async def test_what_cannot_be_written_is_written_again_and_only_the_newest(caplog: pytest.LogCaptureFixture) -> None:
    refused = LoadReport(LOADED.hash, LOADED.loaded_at, "refused", "no", "5a" * 32)
    script = Script([refuses(500)])
    async with pod(script) as own:
        own.set(LOADED.condition())
        await patches(script, 1)
        own.set(refused.condition())
        conditions = await patches(script, 2)
        await asyncio.sleep(0.1)
    assert [config.read_load_report([condition]) for condition in conditions] == [LOADED, refused]
    assert next(record.getMessage().partition(" cannot")[0] for record in caplog.records) == (
        "berth.dev/ConfigLoaded of pod n/berth-a-x"
    )


async def test_what_is_written_already_is_not_written_again() -> None:
    refused = LoadReport(LOADED.hash, LOADED.loaded_at, "refused", "no", "5a" * 32)
    script = Script()
    async with pod(script) as own:
        own.set(LOADED.condition())
        await patches(script, 1)
        own.set(LOADED.condition())
        await asyncio.sleep(0.05)
        own.set(refused.condition())
        conditions = await patches(script, 2)
    assert [config.read_load_report([condition]) for condition in conditions] == [LOADED, refused]


async def test_a_condition_that_changes_all_the_time_is_written_now_and_then() -> None:
    script = Script()
    async with pod(script, least_seconds=0.5) as own:
        for number in range(20):
            own.set({"type": "a", "message": str(number)})
            await asyncio.sleep(0.02)
        conditions = await patches(script, 2)
    assert [condition["message"] for condition in conditions] == ["0", "19"]
