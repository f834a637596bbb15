"""A copy stays true whatever the API server does: judged against a server that plays a script."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from aiohttp import web

from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch import Reflector, reflector
from scheduler_runtime.state.objects.kinds import NODES
from tests.scheduler_runtime.kube.watch.scripted import (
    WatchScript,
    levels,
    line,
    listed,
    node,
    refused,
    streamed,
    watching,
)


async def test_lists_everything_at_once_then_follows() -> None:
    script = WatchScript(
        [
            listed(10, node("a", 1), node("b", 2), node("c", 3)),
            streamed(line("ADDED", node("d", 11)), line("MODIFIED", node("a", 12)), line("DELETED", node("b", 13))),
        ]
    )
    async with watching(script=script) as watched:
        await watched.until(lambda: len(watched.changes) == 6)
    assert watched.changes[3:] == [("added", "d"), ("changed", "a"), ("deleted", "b")]
    assert watched.copy == {"uid-a": 12, "uid-c": 3, "uid-d": 11}
    first, second = script.requests[:2]
    assert first == {}
    assert (second["resourceVersion"], second["allowWatchBookmarks"]) == ("10", "true")
    assert 300 <= int(second["timeoutSeconds"]) <= 600


async def test_resumes_after_the_last_bookmark() -> None:
    script = WatchScript([listed(10), streamed(line("BOOKMARK", node("", 42)))])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 3)
    assert script.requests[2]["resourceVersion"] == "42"


@pytest.mark.parametrize("at", ["request", "event"])
async def test_an_expired_version_is_listed_again_and_what_vanished_is_deleted(at: str) -> None:
    expired = {"code": 410, "reason": "Expired", "message": "too old resource version"}
    expires = refused(410, "Expired") if at == "request" else streamed(line("ERROR", expired))
    script = WatchScript([listed(10, node("a", 1), node("b", 2)), expires, listed(20, node("b", 15), node("c", 16))])
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "20")
    assert watched.changes == [("added", "a"), ("added", "b"), ("changed", "b"), ("added", "c"), ("deleted", "a")]


async def test_an_object_created_again_under_its_name_is_a_deletion_and_an_addition() -> None:
    again = node("a", 12, uid="second")
    async with watching(listed(10, node("a", 1)), refused(410), listed(20, again)) as watched:
        await watched.until(lambda: len(watched.changes) == 3)
    assert watched.changes == [("added", "a"), ("deleted", "a"), ("added", "a")]
    assert watched.copy == {"second": 12}


@pytest.mark.parametrize("cut", range(1, len(line("ADDED", node("b", 12))), 9))
async def test_a_line_cut_anywhere_neither_loses_nor_repeats_its_change(cut: int) -> None:
    whole = line("ADDED", node("b", 12))
    script = WatchScript(
        [
            listed(10),
            streamed(line("ADDED", node("a", 11)), whole[:cut]),
            streamed(whole),
        ]
    )
    async with watching(script=script) as watched:
        await watched.until(lambda: "uid-b" in watched.copy)
    assert watched.changes == [("added", "a"), ("added", "b")]
    assert script.requests[2]["resourceVersion"] == "11"
    assert len(script.requests) in (3, 4)


async def test_a_line_in_two_parts_is_one_line() -> None:
    whole = line("ADDED", node("a", 11)) + line("ADDED", node("b", 12))
    async with watching(listed(10), streamed(whole[:50], whole[50:120], whole[120:], hold=True)) as watched:
        await watched.until(lambda: len(watched.changes) == 2)
    assert watched.copy == {"uid-a": 11, "uid-b": 12}


async def test_a_reset_stream_resumes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    first, second = line("ADDED", node("a", 11)), line("ADDED", node("b", 12))
    script = WatchScript([listed(10), streamed(first, reset=True), streamed(second)])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(watched.copy) == 2)
    assert script.requests[2]["resourceVersion"] == "11"
    assert levels(caplog, "interrupted") == []  # nobody need know


@pytest.mark.parametrize("garbage", [b"<html>\n", b'{"type": "ADDED"}\n', b'{"type": "PUSHED", "object": {}}\n'])
async def test_a_line_that_cannot_be_read_is_requested_again(garbage: bytes) -> None:
    first, second = line("ADDED", node("a", 11)), line("ADDED", node("b", 12))
    script = WatchScript([listed(10), streamed(first, garbage), streamed(second)])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(watched.copy) == 2)
    assert script.requests[2]["resourceVersion"] == "11"


async def test_lines_that_stay_unreadable_end_in_a_new_list() -> None:
    bad = streamed(b"<html>\n")
    async with watching(listed(10), bad, bad, listed(20, node("a", 15))) as watched:
        await watched.until(lambda: watched.copy == {"uid-a": 15})


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_refusal_keeps_the_version_and_is_logged_once(status: int, caplog: pytest.LogCaptureFixture) -> None:
    script = WatchScript(
        [listed(10), refused(status), refused(status), streamed(line("ADDED", node("a", 11)), hold=True)]
    )
    async with watching(script=script) as watched:
        await watched.until(lambda: bool(watched.changes))
    assert [query["resourceVersion"] for query in script.requests[1:]] == ["10", "10", "10"]
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    server = watched.client.server
    assert warnings == [f"watches of API server {server} are interrupted: /api/v1/nodes: {status}: no"]


async def test_too_many_requests_never_cause_a_list() -> None:
    script = WatchScript([listed(10), *[refused(429)] * 6, streamed(line("ADDED", node("a", 11)), hold=True)])
    async with watching(script=script) as watched:
        await watched.until(lambda: bool(watched.changes))
    assert sum("watch" not in query for query in script.requests) == 1


async def test_retry_after_is_obeyed() -> None:
    script = WatchScript([listed(10), refused(429, **{"Retry-After": "1"}), streamed(hold=True)])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) == 2)
        began = asyncio.get_running_loop().time()
        await watched.until(lambda: len(script.requests) == 3)
        assert asyncio.get_running_loop().time() - began > 0.9


async def test_a_list_that_fails_is_repeated() -> None:
    async with watching(refused(500), refused(403, "Forbidden"), listed(10, node("a", 1))) as watched:
        await watched.until(watched.reflector.synced.is_set)
    assert watched.copy == {"uid-a": 1}


async def test_silence_is_a_dead_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "SILENCE_SECONDS", 0.2)
    script = WatchScript([listed(10), streamed(hold=True), streamed(line("ADDED", node("a", 11)))])
    async with watching(script=script) as watched:
        await watched.until(lambda: bool(watched.changes))
    assert script.requests[2]["resourceVersion"] == "10"


async def test_repeated_and_late_lines_change_nothing() -> None:
    lines = [line("ADDED", node("a", 11)), line("MODIFIED", node("a", 13)), line("MODIFIED", node("a", 12))]
    script = WatchScript([listed(10), streamed(*lines, *lines, line("ADDED", node("b", 14)))])
    async with watching(script=script) as watched:
        await watched.until(lambda: "uid-b" in watched.copy)
    assert watched.changes == [("added", "a"), ("changed", "a"), ("added", "b")]
    assert watched.copy["uid-a"] == 13


async def test_a_deletion_of_an_earlier_life_is_ignored() -> None:
    script = WatchScript(
        [listed(10, node("a", 5, uid="two")), streamed(line("DELETED", node("a", 11, uid="one")), hold=True)]
    )
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "11")
    assert watched.copy == {"two": 5}


async def test_a_version_that_is_always_expired_is_not_requested_in_a_hurry() -> None:
    script = WatchScript([answer for _ in range(500) for answer in (listed(10), refused(410, "Expired"))])
    async with watching(script=script) as watched:
        await watched.until(lambda: len(script.requests) > 2)
        await asyncio.sleep(0.5)
    assert len(script.requests) < 110


async def test_an_object_that_the_sink_does_not_take_in_is_set_aside_until_its_next_version(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    go = asyncio.Event()

    async def mends(request: web.Request) -> web.StreamResponse:
        await go.wait()
        return await streamed(line("MODIFIED", node("b", 14)), hold=True)(request)

    bad = streamed(line("MODIFIED", node("b", 13)))
    script = WatchScript([listed(10, node("a", 1), node("b", 2), node("c", 3)), bad, mends])
    async with watching(script=script, fails_for=("2", "13")) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "13")
        assert watched.copy == {"uid-a": 1, "uid-c": 3}
        assert {key: (aside.reason, aside.problem) for key, aside in watched.reflector.set_aside.items()} == {
            "b": ("failed", "ZeroDivisionError: so many")
        }
        go.set()
        await watched.until(lambda: not watched.reflector.set_aside)
        assert watched.copy == {"uid-a": 1, "uid-b": 14, "uid-c": 3}
    assert levels(caplog, "b cannot be taken in") == ["WARNING", "INFO"]


async def test_a_list_that_shows_the_version_which_was_not_taken_in_is_another_try(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    fails_for = {"5"}
    both = node("a", 1), node("b", 5)
    mended = asyncio.Event()

    async def expires(request: web.Request) -> web.StreamResponse:
        await mended.wait()
        return await refused(410)(request)

    script = WatchScript([listed(10, *both), refused(410), listed(20, *both), expires, listed(30, *both)])
    async with watching(script=script, fails_for=fails_for) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "20")
        assert (watched.copy, list(watched.reflector.set_aside)) == ({"uid-a": 1}, ["b"])
        assert levels(caplog, "b cannot be taken in") == ["WARNING"]
        fails_for.clear()
        mended.set()
        await watched.until(lambda: watched.reflector.resource_version == "30")
        assert (watched.copy, list(watched.reflector.set_aside)) == ({"uid-a": 1, "uid-b": 5}, [])
    assert levels(caplog, "b cannot be taken in") == ["WARNING", "INFO"]


async def test_an_absent_server_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with Client(Credentials("http://127.0.0.1:9"), "test") as client:
        absent = Reflector(NODES, client, lambda _: None, Backoff(0.01, 0.02))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(absent.run(), 0.3)
    assert [record.getMessage() for record in caplog.records] == [
        "API server http://127.0.0.1:9 cannot be reached: Connection refused"
    ]
