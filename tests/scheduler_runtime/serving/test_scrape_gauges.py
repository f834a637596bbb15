"""Gauges that are computed when the metrics are read."""

from __future__ import annotations

import asyncio

from scheduler_runtime.serving.scrape_gauges import count_tasks


async def test_tasks_of_the_event_loop_are_counted_from_another_thread() -> None:
    async def count() -> float:
        loop = asyncio.get_running_loop()
        return (await asyncio.to_thread(count_tasks, loop))[()]

    alone = await count()
    waiting = [asyncio.create_task(asyncio.Event().wait()) for _ in range(3)]
    assert await count() == alone + 3
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await count() == alone
