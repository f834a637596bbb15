"""Requests, answers, ends and windows in any order: every request ends in exactly one way, and nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from h2.errors import ErrorCodes
from h2.settings import SettingCodes
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime.kube.http.transport import ConnectionLostError, Response
from scheduler_runtime.kube.http2 import StreamRefusedError
from tests.scheduler_runtime.kube.http2.peer import POST, Peer, ask, greeted, outcomes

Step = tuple[str, int]
Act = Callable[[int], Awaitable[None] | None]
STEPS = ("ask", "answer", "begin", "finish", "reset", "refuse", "cancel", "window", "first_window", "most", "turn")


class Story:
    """A connection to which things happen, and what was asked over it."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.tasks: list[asyncio.Task[Response]] = []
        self.bodies: list[bytes] = []
        self.answered: dict[int, bytes] = {}
        self.started: set[int] = set()
        self.ended: set[int] = set()
        self.cancelled: set[int] = set()

    async def happens(self, what: str, number: int) -> None:
        """One step. A number chooses among what there is to choose from, if anything."""
        act = getattr(self, f"_{what}")
        if (done := act(number)) is not None:
            await done

    def _streams(self, number: int, *, started: bool | None = None) -> list[int]:
        """One of those that the server knows and has not ended, if there is any."""
        among = [
            stream
            for stream, request in self.peer.received.items()
            if stream not in self.ended and request.reset is None and started in (None, stream in self.started)
        ]
        return among[number % len(among) :][:1] if among else []

    def _ask(self, number: int) -> None:
        self.bodies.append(b"%d:" % len(self.tasks) + bytes(number * 100))
        self.tasks.append(ask(self.peer, POST, self.bodies[-1]))

    def _answer(self, number: int) -> None:
        for stream in self._streams(number, started=False):
            self.answered[stream] = b"%d" % stream
            self.ended.add(stream)
            self.peer.answer(stream, 200, self.answered[stream])

    def _begin(self, number: int) -> None:
        for stream in self._streams(number, started=False):
            self.started.add(stream)
            self.peer.judge.send_headers(stream, [(":status", "200")])

    def _finish(self, number: int) -> None:
        for stream in self._streams(number, started=True):
            self.answered[stream] = bytes(number)
            self.ended.add(stream)
            self.peer.judge.send_data(stream, bytes(number), end_stream=True)

    def _reset(self, number: int, code: ErrorCodes = ErrorCodes.INTERNAL_ERROR) -> None:
        for stream in self._streams(number):
            self.ended.add(stream)
            self.peer.judge.reset_stream(stream, code)

    def _refuse(self, number: int) -> None:
        self._reset(number, ErrorCodes.REFUSED_STREAM)

    def _cancel(self, number: int) -> None:
        for place in range(len(self.tasks))[number % 10 :][:1]:
            self.cancelled.add(place)
            self.tasks[place].cancel()

    def _window(self, number: int) -> None:
        self.peer.judge.increment_flow_control_window(number * 100 + 1)

    async def _first_window(self, number: int) -> None:
        await self._set({SettingCodes.INITIAL_WINDOW_SIZE: 1000 + number * 100})

    async def _most(self, number: int) -> None:
        await self._set({SettingCodes.MAX_CONCURRENT_STREAMS: number % 5})

    async def _set(self, changed: dict[SettingCodes | int, int]) -> None:
        await self.peer.settle()  # the judge takes one acknowledgement for that of all settings
        self.peer.judge.update_settings(changed)

    async def _turn(self, number: int) -> None:
        for _ in range(number % 3):
            await asyncio.sleep(0)
        self.peer.hear()
        self.peer.tell(self.peer.judge.data_to_send())

    async def ends(self, how: str) -> list[object]:
        """Let what is under way be answered, or end the connection; what became of all requests."""
        await self._turn(2)
        if how == "answered":
            await self._all_answered()
        elif how == "goaway":
            self.peer.judge.close_connection(last_stream_id=max(self.peer.received, default=0) // 2)
            self.peer.tell(self.peer.judge.data_to_send())
        if how != "answered":
            self.peer.connection.connection_lost(None)
        return await outcomes(self.tasks)

    async def _all_answered(self) -> None:
        await self._set({SettingCodes.MAX_CONCURRENT_STREAMS: 100})
        while not all(task.done() for task in self.tasks):
            await self.peer.settle()
            self._answer(0)
            self._finish(0)


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 300)), max_size=40), st.integers(1, 50), st.data())
@settings(max_examples=60)
def test_every_request_ends_in_exactly_one_way(steps: list[Step], piece: int, data: Any) -> None:
    how = data.draw(st.sampled_from(["answered", "goaway", "lost"]))

    async def story() -> None:
        async with greeted(piece=piece) as peer:
            scenario = Story(peer)
            for what, number in steps:
                await scenario.happens(what, number)
            ended = await scenario.ends(how)
            check(scenario, ended, how)

    asyncio.run(story())


def check(scenario: Story, ended: list[object], how: str) -> None:
    """What each request got is what happened to it."""
    kinds = {Response, StreamRefusedError, ConnectionLostError, asyncio.CancelledError}
    assert set(map(type, ended)) <= kinds
    for place, result in enumerate(ended):
        if isinstance(result, asyncio.CancelledError):
            assert place in scenario.cancelled
    bodies = [result.body for result in ended if isinstance(result, Response)]
    assert all(body in scenario.answered.values() for body in bodies)
    for request in scenario.peer.received.values():
        assert not request.is_complete or request.body in scenario.bodies
    if how == "answered":
        assert scenario.peer.connection.accepts_requests
        assert scenario.peer.connection.slots._free == scenario.peer.connection.slots._count
