"""Reflectors that begin and end while others go on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from scheduler_runtime.api import Watch
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.kube.watch.reflector_group import (
    NotListedError,
    ReflectorGroup,
    wait_until_caught_up,
    wait_until_listed,
)
from scheduler_runtime.scheduling.watched_objects import WatchedObjects, reflected_kind
from tests.support.scripted import Script, hangs, refuses, says, serving

PRICES, SERVICES = Watch("v1", "ConfigMap", name="prices"), Watch("v1", "Service")
EMPTY: dict[str, Any] = {"metadata": {"resourceVersion": "1"}, "items": []}


async def test_what_is_adopted_can_be_read_and_what_is_dropped_ends() -> None:
    async with serving(Script([says(EMPTY)], hangs)) as client:
        objects, informers = WatchedObjects([], client, lambda _: None), ReflectorGroup()
        new = objects.create_reflectors([PRICES, PRICES])
        informers.start(new.values())
        await wait_until_listed(new.values(), 5)
        with pytest.raises(KeyError):
            objects.get(PRICES)
        objects.adopt([PRICES], new)
        assert objects.get(PRICES) is None
        assert objects.create_reflectors([PRICES]) == {}
        dropped = objects.keep_only([SERVICES])
        assert dropped == list(new.values())
        waiting = asyncio.create_task(dropped[0].catch_up())
        await asyncio.sleep(0)
        informers.stop(dropped)
        async with asyncio.timeout(5):
            await waiting  # nobody waits for ever for a list that is not made


async def test_what_cannot_be_listed_in_time_is_an_error_with_its_reason() -> None:
    async with serving(Script(otherwise=refuses(403, "Forbidden", "no right to list it"))) as client:
        objects, informers = WatchedObjects([], client, lambda _: None), ReflectorGroup()
        new = objects.create_reflectors([PRICES])
        informers.start(new.values())
        with pytest.raises(NotListedError, match=r"within 0\.5 s: watching /api/v1/configmaps .*no right to list it"):
            await wait_until_listed(new.values(), 0.5)
        informers.stop(new.values())


async def test_an_error_of_ours_in_one_of_them_is_raised() -> None:
    class Broken(Reflector[Any]):
        async def _follow(self) -> None:
            raise ZeroDivisionError

    async with serving(Script([])) as client:
        informers = ReflectorGroup()
        informers.start([Broken(reflected_kind(PRICES), client, lambda _: None)])
        with pytest.raises(ZeroDivisionError):
            async with asyncio.timeout(5):
                await informers.run()


@contextlib.asynccontextmanager
async def forbidden_later() -> AsyncIterator[Reflector[Any]]:
    """Follows what was listed once, and may not be listed again."""
    script = Script([says(EMPTY), hangs], otherwise=refuses(403, "Forbidden", "no right to list it"))
    async with serving(script) as client:
        objects, informers = WatchedObjects([PRICES], client, lambda _: None), ReflectorGroup()
        informers.start(objects.reflectors)
        await wait_until_listed(objects.reflectors, 5)
        yield next(iter(objects.reflectors))
        informers.stop(objects.reflectors)


async def test_a_kind_of_a_plugin_that_does_not_exist_any_more_holds_up_nobody_and_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with forbidden_later() as forbidden, asyncio.timeout(5):
        await wait_until_caught_up((), (forbidden,), seconds=0.2)
    assert any(
        record.levelname == "ERROR" and "old copy of /api/v1/configmaps, not caught up within 0.2 s" in record.message
        for record in caplog.records
    )


async def test_without_all_pods_and_nodes_nothing_is_decided_however_long_it_takes() -> None:
    async with forbidden_later() as pods:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await wait_until_caught_up((pods,), (), seconds=0.1)
