"""Progress of a pod on its way to a node, and the reason why it was sent back."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from scheduler_runtime.api import Plugin, Wait
from scheduler_runtime.serving.debug_dumps import dump_queue
from tests.support.scheduling import Scene, running


async def hangs(*_: Any) -> None:
    await asyncio.sleep(60)


async def fails(*_: Any) -> None:
    raise KeyError("the price")


def refuses(*_: Any) -> None:
    raise KeyError("the price")


def dumped(scene: Scene, place: str, field: str) -> Any:
    """What the only pod says of itself, if it is there."""
    (pod,) = dump_queue(scene.queue, time.monotonic(), scene.services.progress).get(place) or [{}]
    return pod.get(field)


@pytest.mark.parametrize(
    ("hook", "run", "without", "place", "expected"),
    [
        ("permit", lambda *_: Wait(60), [], "in flight", "permit of plugin Own, for 60 s at most"),
        ("pre_bind", hangs, [], "binding", "pre_bind of plugin Own"),
        ("bind", hangs, ["DefaultBinder"], "binding", "bind of plugin Own"),
    ],
)
async def test_what_a_pod_waits_for_is_in_the_dump_until_it_does_not_any_more(
    hook: str, run: Any, without: list[str], place: str, expected: str
) -> None:
    async with running(type("Own", (Plugin,), {hook: run}), without=without) as scene:
        scene.add("a")
        await scene.until(lambda: dumped(scene, place, "waitsFor") == [expected])
        await scene.underway.finish(0)
        assert scene.services.progress.describe(time.monotonic()) == {}


@pytest.mark.parametrize(
    ("hook", "run", "expected"),
    [
        ("filter", refuses, "plugin Own failed in filter: KeyError: 'the price'"),
        ("pre_bind", fails, """running PreBind plugin "Own": KeyError: 'the price'"""),
    ],
)
async def test_the_error_that_an_attempt_ended_in_is_in_the_dump_while_its_pod_backs_off(
    hook: str, run: Any, expected: str
) -> None:
    async with running(type("Own", (Plugin,), {hook: run})) as scene:
        scene.add("a")
        await scene.until(lambda: dumped(scene, "backoff", "error") == expected)


async def test_what_does_not_end_in_time_is_named_with_what_it_waits_for() -> None:
    async with running(type("Own", (Plugin,), {"pre_bind": hangs})) as scene:
        for name in ("a", "b"):
            scene.add(name)
        await scene.until(lambda: len(scene.services.progress.hooks) == 2)
        assert not await scene.underway.finish(0.01)
        assert scene.underway.unfinished == tuple(
            f"bind default/{name} (pre_bind of plugin Own)" for name in ("a", "b")
        )
