"""Slots for requests: given in the order of asking, and none is lost."""

from __future__ import annotations

import asyncio

from scheduler_runtime.kube.http2.flow_control import StreamSlots


class Guests:
    """Takers of slots, in the order in which they got them."""

    def __init__(self, count: int) -> None:
        self.slots = StreamSlots(count)
        self.inside: list[str] = []

    async def come(self, *names: str) -> list[asyncio.Task[None]]:
        async def enter(name: str) -> None:
            await self.slots.acquire()
            self.inside.append(name)

        tasks = [asyncio.create_task(enter(name)) for name in names]
        await self.settle()
        return tasks

    async def leave(self) -> None:
        self.slots.release()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)


async def test_slots_go_to_those_who_have_waited_longest() -> None:
    guests = Guests(2)
    await guests.come("a", "b", "c", "d", "e")
    assert guests.inside == ["a", "b"]
    for number in range(3):
        await guests.leave()
        assert guests.inside == ["a", "b", "c", "d", "e"][: 3 + number]


async def test_who_comes_when_a_slot_is_released_is_not_faster_than_who_waits() -> None:
    guests = Guests(1)
    await guests.come("a", "waits")
    guests.slots.release()
    await guests.come("hurries")
    assert guests.inside == ["a", "waits"]


async def test_who_gives_up_waiting_loses_no_slot() -> None:
    guests = Guests(1)
    _, first, second, third = await guests.come("a", "first", "second", "third")
    first.cancel()
    guests.slots.release()
    second.cancel()  # it has the slot already, and does not know yet
    await guests.settle()
    assert third.done()
    assert guests.inside == ["a", "third"]
    await guests.leave()
    await guests.come("b")
    assert guests.inside == ["a", "third", "b"]


async def test_who_comes_behind_one_that_gives_up_gets_the_slot() -> None:
    guests = Guests(1)
    _, waits = await guests.come("a", "waits")
    waits.cancel()
    guests.slots.release()
    await guests.come("b")
    assert guests.inside == ["a", "b"]


async def test_fewer_slots_are_filled_when_enough_are_released() -> None:
    guests = Guests(3)
    await guests.come("a", "b", "c", "d")
    guests.slots.resize(1)
    await guests.leave()
    await guests.leave()
    assert guests.inside == ["a", "b", "c"]
    await guests.leave()
    assert guests.inside == ["a", "b", "c", "d"]


async def test_more_slots_are_filled_at_once() -> None:
    guests = Guests(0)
    await guests.come("a", "b", "c", "d")
    guests.slots.resize(3)
    await guests.settle()
    assert guests.inside == ["a", "b", "c"]


async def test_nobody_waits_for_slots_that_are_closed() -> None:
    guests = Guests(1)
    await guests.come("a", "b", "c")
    guests.slots.close()
    await guests.come("d")
    assert sorted(guests.inside) == ["a", "b", "c", "d"]
