"""Catching up: changes before some instant are learned from the watch, and from a list of versions alone."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch import reflector
from tests.scheduler_runtime.kube.watch.scripted import (
    Answer,
    Watched,
    WatchScript,
    line,
    listed,
    node,
    refused,
    streamed,
    watching,
)
from tests.support.scripted import says


class ManualWatch:
    """A watch that tells each event when the test says so."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def tell(self, kind: str, name: str, version: int) -> None:
        self._lines.put_nowait(line(kind, node(name, version)))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(await self._lines.get())


async def start_catching_up(watched: Watched) -> asyncio.Task[None]:
    """A refresh that has compared what there is, and waits or has ended."""
    refresh = asyncio.create_task(watched.reflector.catch_up())
    await watched.until(lambda: len(watched.script.requests) == 3)
    await asyncio.sleep(0.05)
    return refresh


async def test_who_lacks_nothing_need_not_wait_and_the_watch_goes_on() -> None:
    watch = ManualWatch()
    script = WatchScript([listed(10, node("a", 1)), watch.answer, listed(20, node("a", 1))])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        await asyncio.wait_for(watched.reflector.catch_up(), 5)
        assert "PartialObjectMetadataList" in script.accepted[2]
        watch.tell("ADDED", "b", 21)
        await watched.until(lambda: watched.copy == {"uid-a": 1, "uid-b": 21})
        assert len(script.requests) == 3


async def test_where_there_is_nothing_the_api_server_says_null() -> None:
    script = WatchScript(
        [listed(10), streamed(hold=True), says({"metadata": {"resourceVersion": "20"}, "items": None})]
    )
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        await asyncio.wait_for(watched.reflector.catch_up(), 5)


@pytest.mark.parametrize(
    ("there", "event", "copy"),
    [
        pytest.param([("a", 1), ("b", 15)], ("ADDED", "b", 15), {"uid-a": 1, "uid-b": 15}, id="a-new-object"),
        pytest.param([("a", 12)], ("MODIFIED", "a", 12), {"uid-a": 12}, id="a-change"),
        pytest.param([], ("DELETED", "a", 13), {}, id="a-deletion"),
    ],
)
async def test_waits_for_changes_from_before_the_call(
    there: list[tuple[str, int]], event: tuple[str, str, int], copy: dict[str, int]
) -> None:
    watch = ManualWatch()
    script = WatchScript([listed(10, node("a", 1)), watch.answer, listed(20, *(node(*item) for item in there))])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        refresh = await start_catching_up(watched)
        assert not refresh.done()
        watch.tell(*event)
        await asyncio.wait_for(refresh, 5)
        assert watched.copy == copy


async def test_what_came_and_went_before_the_watch_showed_it_is_not_waited_for_in_vain() -> None:
    watch = ManualWatch()
    script = WatchScript([listed(10), watch.answer, listed(20, node("a", 15))])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        refresh = await start_catching_up(watched)
        watch.tell("DELETED", "a", 22)
        await asyncio.wait_for(refresh, 5)


async def test_a_watch_that_does_not_show_it_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "LATE_SECONDS", 0.1)
    dead, alive = streamed(hold=True), streamed(line("ADDED", node("a", 15)), hold=True)
    script = WatchScript([listed(10), dead, listed(20, node("a", 15)), alive])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        await asyncio.wait_for(watched.reflector.catch_up(), 5)
        assert watched.copy == {"uid-a": 15}
    assert script.requests[3]["resourceVersion"] == "10"


async def test_a_watch_that_takes_its_time_to_begin_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "LATE_SECONDS", 0.1)

    async def slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.5)
        return await streamed(line("ADDED", node("a", 15)), hold=True)(request)

    script = WatchScript([listed(10), streamed(hold=True), listed(20, node("a", 15)), slow])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        await asyncio.wait_for(watched.reflector.catch_up(), 5)
        assert watched.copy == {"uid-a": 15}
    assert len(script.requests) == 4


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([refused(500), listed(20)], id="refused-once"),
        pytest.param([listed(20, more="x"), refused(410, "Expired"), listed(20)], id="outlived"),
    ],
)
async def test_a_comparison_that_fails_is_repeated(answers: list[Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Backoff, "next_delay", lambda *_: 0.01)
    script = WatchScript([listed(10), streamed(hold=True), *answers])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        await asyncio.wait_for(watched.reflector.catch_up(), 5)
        assert len(script.requests) == 2 + len(answers)


async def test_all_pages_are_compared_and_none_is_requested_twice() -> None:
    everything = [node(f"n{number}", 1) for number in range(150)]
    pages = [listed(20, *everything[:100], more="x"), listed(20, *everything[100:])]
    script = WatchScript([listed(10, *everything), streamed(hold=True), *pages])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        await asyncio.wait_for(watched.reflector.catch_up(), 5)
    assert [request.get("continue") for request in script.requests[2:]] == [None, "x"]


async def test_an_object_that_may_be_the_one_without_a_name_is_not_taken_for_deleted() -> None:
    nameless = {"metadata": {"name": 7, "resourceVersion": "1"}}
    script = WatchScript([listed(10, node("a", 1)), streamed(hold=True), listed(10, nameless)])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        await asyncio.wait_for(watched.reflector.catch_up(), 5)
        assert watched.copy == {"uid-a": 1}
