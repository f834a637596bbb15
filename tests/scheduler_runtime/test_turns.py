"""In a crowd the event loop turns less often; otherwise nothing waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from scheduler_runtime.turns import CROWD, SHORTEST_TURN_SECONDS, Turns


@dataclass
class Scene:
    """How crowded it is, and for how long the loop was slowed down each time."""

    crowded: asyncio.Event = field(default_factory=asyncio.Event)
    messages: list[int] = field(default_factory=list)
    rests: list[float] = field(default_factory=list)

    async def turns(self, count: int = 10) -> int:
        """Let the loop turn ``count`` times; how many of these turns were slow."""
        before = len(self.rests)
        for _ in range(count):
            await asyncio.sleep(0)
        return len(self.rests) - before


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[Scene]:
    scene = Scene()
    task = asyncio.create_task(Turns(scene.crowded, scene.messages, scene.rests.append).run())
    yield scene
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_an_idle_loop_is_not_slowed_down() -> None:
    async with running() as scene:
        scene.messages += range(CROWD)  # what is told without any binding comes at the pace of decisions
        assert await scene.turns() == 0


async def test_each_turn_takes_a_moment_in_a_crowd_and_none_after_it() -> None:
    async with running() as scene:
        scene.crowded.set()
        assert await scene.turns() >= 8
        assert all(0 < rest <= SHORTEST_TURN_SECONDS for rest in scene.rests)
        scene.crowded.clear()
        await scene.turns(1)
        assert await scene.turns() == 0


async def test_what_a_crowd_leaves_to_be_told_is_told_slowly_too() -> None:
    async with running() as scene:
        scene.messages += range(CROWD)
        scene.crowded.set()
        await scene.turns(2)
        scene.crowded.clear()
        assert await scene.turns() >= 8
        scene.messages.pop()
        await scene.turns(1)
        assert await scene.turns() == 0


async def test_a_turn_that_took_long_by_itself_is_not_made_longer() -> None:
    async with running() as scene:
        scene.crowded.set()
        await scene.turns(2)
        before = len(scene.rests)
        for _ in range(5):
            until = asyncio.get_running_loop().time() + SHORTEST_TURN_SECONDS
            while asyncio.get_running_loop().time() < until:
                pass
            await asyncio.sleep(0)
        assert len(scene.rests) <= before + 1
