"""What is looked up when somebody asks for the metrics."""

from __future__ import annotations

import asyncio

from scheduler_runtime.serving import scrape_gauges as gauges


async def test_tasks_of_the_event_loop_are_counted_from_another_thread() -> None:
    async def counted() -> float:
        loop = asyncio.get_running_loop()
        return (await asyncio.to_thread(gauges.tasks, loop))[()]

    alone = await counted()
    waiting = [asyncio.create_task(asyncio.Event().wait()) for _ in range(3)]
    assert await counted() == alone + 3
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await counted() == alone
