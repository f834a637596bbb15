"""Loop stalls: the culprit is named once the loop goes on; a process that was stopped has none."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Plugin, Pod
from scheduler_runtime.app.self_checks import REPEAT_SECONDS, SAMPLE_SECONDS, LoopStalls
from scheduler_runtime.framework import Placed
from tests.support.leases import Clock

MULTI_POINT = {"plugins": {"multiPoint": {"enabled": [{"name": "Blocks"}]}}}
PRE_BIND = "pre_bind of plugin Blocks for default/p blocked everything for 5.0 s: "
PRE_BIND += "use await, or asyncio.to_thread for what blocks"


class Blocks(Plugin):
    """Blocks wherever it is told to, while ``meanwhile`` happens in another thread."""

    at = ""
    meanwhile: Callable[[int], None]

    def __init__(self, args: Any, handle: Any) -> None:
        self._block("__init__")

    async def pre_bind(self, pod: Pod, node: str, state: Any) -> None:
        self._block("pre_bind")

    def _block(self, hook: str) -> None:
        if self.at == hook:
            beside = threading.Thread(target=type(self).meanwhile, args=(threading.get_ident(),))
            beside.start()
            beside.join()


class Scene:
    """A loop that stands still for five seconds of a clock, each time that a plugin is at work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: str, sample_seconds: float = SAMPLE_SECONDS) -> None:
        self.clock = Clock()
        self.stalls = LoopStalls(self.clock)
        self.sample_seconds = sample_seconds
        monkeypatch.setattr(Blocks, "at", at)
        monkeypatch.setattr(Blocks, "meanwhile", staticmethod(self._pass), raising=False)

    def _pass(self, thread: int) -> None:
        for _ in range(int(5 / self.sample_seconds)):
            self.clock.now += self.sample_seconds
            self.stalls.sample(thread)

    async def work(self) -> None:
        """Make the plugin, and bring a pod to its node."""
        framework = testing.framework(MULTI_POINT, Blocks)
        placed = framework.schedule(testing.pod("p"), testing.Cluster(testing.node("a")))
        assert isinstance(placed, Placed)
        await framework.binding.run_pre_bind_plugins(placed, framework.binding.run_pre_bind_pre_flights(placed))
        self.clock.now += SAMPLE_SECONDS
        self.stalls.on_progress()


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("pre_bind", [PRE_BIND]),
        ("__init__", ["__init__ of plugin Blocks blocked everything for 5.0 s: run long work in a thread"]),
        ("", []),
    ],
)
async def test_who_holds_everything_up_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, at: str, expected: list[str]
) -> None:
    caplog.set_level(logging.INFO)
    await Scene(monkeypatch, at).work()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", line) for line in expected
    ]


async def test_a_plugin_is_named_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    scene = Scene(monkeypatch, "pre_bind")
    await scene.work()
    await scene.work()
    assert caplog.messages == [PRE_BIND]
    scene.clock.now += REPEAT_SECONDS
    scene.stalls.on_progress()
    caplog.clear()
    await scene.work()
    assert caplog.messages == [PRE_BIND]


async def test_a_plugin_is_not_blamed_when_the_whole_process_was_stopped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await Scene(monkeypatch, "pre_bind", sample_seconds=5.0).work()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "the event loop stood still for 5.0 s: no plugin was running")
    ]


async def test_a_loop_that_turns_is_not_complained_of_and_the_thread_ends_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def watching() -> bool:
        return any(thread.name == "loop-stalls" for thread in threading.enumerate())

    caplog.set_level(logging.INFO)
    run = asyncio.create_task(LoopStalls().run())
    await asyncio.sleep(0)
    assert watching()
    thread = next(thread for thread in threading.enumerate() if thread.name == "loop-stalls")
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    await asyncio.to_thread(thread.join, 10)
    assert not watching()
    assert caplog.messages == []
