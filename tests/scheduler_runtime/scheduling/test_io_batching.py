"""In a crowd the event loop turns less often; otherwise nothing waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from scheduler_runtime.scheduling.io_batching import CROWD, GATHERING_SECONDS, STEPS, IoBatching


@dataclass
class Scene:
    """How crowded it is, and for how long the loop was slowed down each time."""

    crowded: asyncio.Event = field(default_factory=asyncio.Event)
    messages: list[int] = field(default_factory=list)
    rests: list[float] = field(default_factory=list)

    async def turns(self, count: int = 10 * STEPS) -> int:
        """Let the loop turn ``count`` times; how often it was slowed down."""
        before = len(self.rests)
        for _ in range(count):
            await asyncio.sleep(0)
        return len(self.rests) - before


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[Scene]:
    scene = Scene()
    task = asyncio.create_task(IoBatching(scene.crowded, scene.messages, scene.rests.append).run())
    yield scene
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_an_idle_loop_is_not_slowed_down() -> None:
    async with running() as scene:
        scene.messages += range(CROWD)  # what is told without any binding comes at the pace of decisions
        assert await scene.turns() == 0


async def test_in_a_crowd_it_is_slowed_down_again_and_again_and_not_after_it() -> None:
    async with running() as scene:
        scene.crowded.set()
        assert 8 <= await scene.turns() <= 10
        assert all(0 < rest <= GATHERING_SECONDS for rest in scene.rests)
        scene.crowded.clear()
        await scene.turns(STEPS)
        assert await scene.turns() == 0


async def test_messages_that_a_crowd_leaves_behind_are_sent_slowly_too() -> None:
    async with running() as scene:
        scene.messages += range(CROWD)
        scene.crowded.set()
        await scene.turns(STEPS + 1)
        scene.crowded.clear()
        assert 8 <= await scene.turns() <= 10
        scene.messages.pop()
        await scene.turns(STEPS)
        assert await scene.turns() == 0


async def test_turns_that_are_full_of_work_are_not_prolonged() -> None:
    async with running() as scene:
        scene.crowded.set()
        await scene.turns(STEPS + 1)
        before = len(scene.rests)
        for _ in range(5 * STEPS):
            until = asyncio.get_running_loop().time() + GATHERING_SECONDS
            while asyncio.get_running_loop().time() < until:
                pass
            await asyncio.sleep(0)
        assert len(scene.rests) <= before + 1
