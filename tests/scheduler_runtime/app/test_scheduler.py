"""Waiting for the first of several things."""

from __future__ import annotations

import asyncio

import pytest

from scheduler_runtime.app.scheduler import wait_first


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
