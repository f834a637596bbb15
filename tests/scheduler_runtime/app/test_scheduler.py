"""The parts of a process together, and waiting for the first of several things."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from scheduler_runtime import config, testing
from scheduler_runtime.app.scheduler import wait_first
from scheduler_runtime.reload.plan import DocumentText
from tests.support.processes import assembled
from tests.support.scripted import Script, serving

DOCUMENT = DocumentText(yaml.safe_dump({"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}))


async def test_the_first_to_end_ends_the_waiting_and_the_others_are_cancelled() -> None:
    cancelled: list[bool] = []

    async def for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    async def soon() -> None:
        await asyncio.sleep(0.01)

    await wait_first(for_ever(), soon(), for_ever())
    assert cancelled == [True, True]


async def test_what_the_first_raises_is_raised() -> None:
    async def fails() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await wait_first(asyncio.Event().wait(), fails())


async def test_victims_are_asked_again_when_the_data_of_the_api_server_went_back_in_time(tmp_path: Path) -> None:
    async with serving(Script()) as client:
        process, _ = await assembled(tmp_path, DOCUMENT, client)
        victim, victims = testing.pod("victim"), process.cache.victims
        victims.claim(testing.pod("preemptor"), [victim])
        victims.mark_asked(victim)
        process.running_reflectors._on_rollback()
        assert not victims.is_asked(victim)
