"""Answers of the API server as kopf receives them, and what is logged about them."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from scheduler_operator.cluster.credentials import Credentials
from scheduler_operator.cluster.generated_objects import GeneratedObjects
from scheduler_operator.cluster.user_objects import UserObjects
from scheduler_operator.kopf_seam import http_session, watch_stream
from scheduler_operator.kopf_seam.http_session import KopfSession, ObjectFeed, UnusableError
from scheduler_operator.kopf_seam.watch_stream import EXPIRED_LINE, InterruptedStreams
from scheduler_operator.resources import kinds
from tests.scheduler_operator.builders import kubeconfig
from tests.support.scripted import Answer, Script, hangs, refuses, resets, says, served

LIST = "/apis/berth.dev/v1alpha1/schedulerprofiles"
WATCH = f"{LIST}?watch=true"
EXPIRED_ANSWER = says({"kind": "Status", "code": 410, "reason": "Expired"}, status=410)
EMPTY = {"kind": "SchedulerProfileList", "items": []}


@dataclass
class Kopf:
    """It sends scripted requests through our session."""

    url: str
    session: aiohttp.ClientSession
    lists: list[str]
    users: UserObjects
    counted: list[tuple[int, str]]

    async def ask(self, path: str) -> aiohttp.ClientResponse:
        return await self.session.get(f"{self.url}{path}")


@asynccontextmanager
async def kopf(script: Script, directory: Path) -> AsyncIterator[Kopf]:
    async with served(script) as url:
        lists: list[str] = []
        credentials = Credentials(kubeconfig(directory, url))
        users = UserObjects()
        feed = ObjectFeed(
            users, GeneratedObjects(), lambda: lists.append("listed"), lambda kind: lists.append(kind.plural)
        )
        counted: list[tuple[int, str]] = []

        def count(status: int, method: str, _: object) -> None:
            counted.append((status, method))

        between = KopfSession(credentials, "tests", InterruptedStreams(), feed, "berth-system", count)
        try:
            yield Kopf(url, between.open_session(), lists, users, counted)
        finally:
            await between.close()


async def test_every_request_is_counted_by_the_status_of_its_answer(tmp_path: Path) -> None:
    async with kopf(Script([says(EMPTY), EXPIRED_ANSWER], otherwise=resets), tmp_path) as asking:
        await asking.ask(LIST)
        assert (await asking.ask(WATCH)).status == 200  # what kopf is told
        with pytest.raises(aiohttp.ClientConnectionError):
            await asking.ask(LIST)
    assert asking.counted[:2] == [(200, "GET"), (410, "GET")]
    assert set(asking.counted[2:]) == {(0, "GET")}  # aiohttp tries once more by itself


async def html(request: web.Request) -> web.Response:
    return web.Response(text="<html>", content_type="text/html")


DEADLY: dict[str, tuple[Answer, str]] = {
    "401": (refuses(401, message="Unauthorized"), "401 Unauthorized: Unauthorized"),
    "404": (refuses(404, message="no such kind"), "404 Not Found: no such kind"),
    "400": (refuses(400), "400 Bad Request: no"),
}


@pytest.mark.parametrize("path", [LIST, WATCH], ids=["list", "watch"])
@pytest.mark.parametrize("answer", DEADLY)
async def test_what_kopf_would_die_of_looks_like_no_answer(
    answer: str, path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    act, because = DEADLY[answer]
    async with kopf(Script(otherwise=act), tmp_path) as asking:
        for _ in range(2):
            with pytest.raises(aiohttp.ClientConnectionError):
                await asking.ask(path)
    assert [line.partition(": ")[2] for line in caplog.messages] == [because]
    assert asking.lists == []


@pytest.mark.parametrize("answer", [html, says(["no", "object"])], ids=["no-json", "no-object"])
async def test_a_list_that_is_none_looks_like_no_answer(answer: Answer, tmp_path: Path) -> None:
    async with kopf(Script(otherwise=answer), tmp_path) as asking:
        with pytest.raises(UnusableError, match="is this an API server"):
            await asking.ask(LIST)
    assert asking.lists == []


@pytest.mark.parametrize("path", [LIST, WATCH], ids=["list", "watch"])
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_kopf_repeats_is_reported_and_passed_on(
    status: int, path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with kopf(Script(otherwise=refuses(status, message="later", **{"Retry-After": "3"})), tmp_path) as asking:
        answer = await asking.ask(path)
        assert (answer.status, answer.headers["Retry-After"]) == (status, "3")
        assert (await answer.json())["message"] == "later"
    assert caplog.messages[0].endswith(": later")


async def test_what_is_forbidden_for_a_moment_is_not_worth_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    forbidden = refuses(403, message="cannot list")
    async with kopf(Script([forbidden, forbidden, says(EMPTY)], otherwise=forbidden), tmp_path) as asking:
        for _ in range(5):
            await asking.ask(LIST)
        assert caplog.messages == []
        assert (await asking.ask(LIST)).status == 403
    assert caplog.messages == [f"watching {LIST} is interrupted: 403 Forbidden: cannot list"]


async def test_no_answer_is_reported_in_a_sentence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with kopf(Script(otherwise=resets), tmp_path) as asking:
        with pytest.raises(aiohttp.ClientConnectionError):
            await asking.ask(WATCH)
    assert caplog.messages[0].endswith(": no answer from the API server: Server disconnected")


async def test_an_answer_that_does_not_come_is_not_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_session, "ANSWER_SECONDS", 0.05)
    async with kopf(Script(otherwise=hangs), tmp_path) as asking:
        with pytest.raises(TimeoutError):
            await asking.ask(LIST)
    assert caplog.messages[0].endswith(": no answer from the API server: none within 0.05 s")


async def test_a_refused_token_is_read_anew(tmp_path: Path) -> None:
    script = Script([refuses(401)], otherwise=says(EMPTY))
    async with kopf(script, tmp_path) as asking:
        (tmp_path / "token").write_text("second")
        with pytest.raises(UnusableError):
            await asking.ask(LIST)
        assert (await asking.ask(LIST)).ok
    assert [item.authorization for item in script.received] == ["Bearer first", "Bearer second"]


async def test_every_list_is_reported_and_no_watch_is(tmp_path: Path) -> None:
    async with kopf(Script(otherwise=says(EMPTY)), tmp_path) as asking:
        for path in (LIST, WATCH, LIST):
            assert (await asking.ask(path)).ok
    assert len(asking.lists) == 2


async def test_an_expired_watch_is_listed_again_however_that_is_reported(tmp_path: Path) -> None:
    async with kopf(Script(otherwise=EXPIRED_ANSWER), tmp_path) as asking:
        answer = await asking.ask(WATCH)
        assert answer.status == 200
        assert [line async for line in answer.content.iter_chunked(2**20)] == [EXPIRED_LINE]


async def test_a_watch_that_ended_at_once_has_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_stream, "SPACING_SECONDS", 0.1)
    began = time.monotonic()
    async with kopf(Script(otherwise=says(EMPTY)), tmp_path) as asking:
        for _ in range(2):
            assert (await asking.ask(WATCH)).ok
    assert time.monotonic() - began >= 0.2


async def test_a_list_after_a_watch_tells_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with kopf(Script([EXPIRED_ANSWER], otherwise=says(EMPTY)), tmp_path) as asking:
        watch = await asking.ask(WATCH)
        assert await anext(watch.content.iter_chunked(2**20)) == EXPIRED_LINE
        await asking.ask(LIST)
    assert caplog.messages == [
        "watching schedulerprofiles is interrupted: the last known version has expired (410); listing again"
    ]


def raw(name: str, **metadata: object) -> dict[str, object]:
    named = {"name": name, "uid": name, "generation": 1, "resourceVersion": "7", **metadata}
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": named, "spec": {}}


async def test_an_object_that_cannot_be_taken_in_is_left_as_it_was_and_the_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events = [
        {"type": "MODIFIED", "object": raw("odd", resourceVersion=8)},
        {"type": "ADDED", "object": raw("beside")},
    ]
    lines = "\n".join(map(json.dumps, events)) + "\n"

    async def stream(request: web.Request) -> web.Response:
        return web.Response(text=lines)

    script = Script([says({"items": [raw("odd")]}), stream], otherwise=says(EMPTY))
    async with kopf(script, tmp_path) as asking:
        await asking.ask(LIST)
        watch = await asking.ask(WATCH)
        passed_on = [json.loads(line) async for line in watch.content.iter_chunked(2**20)]
        assert [event["object"]["metadata"]["name"] for event in passed_on] == ["beside"]
        assert {*asking.users.profiles} == {"odd", "beside"}
    assert caplog.records[0].exc_info
    assert "SchedulerProfile odd cannot be taken in" in caplog.messages[0]


def test_a_list_with_an_object_that_cannot_be_taken_in_is_used_without_it(caplog: pytest.LogCaptureFixture) -> None:
    users = UserObjects()
    feed = ObjectFeed(users, GeneratedObjects(), lambda: None, lambda _: None)
    feed.take_list(kinds.PROFILE, {"items": [raw("odd"), raw("gone")]}, is_first=True)
    odd: dict[str, object] = {"metadata": {"name": "odd"}}
    answer = feed.take_list(kinds.PROFILE, {"items": [odd, raw("new")]}, is_first=True)
    assert {*users.profiles} == {"odd", "new"}
    assert users.profiles["odd"].version == 7
    assert [item["metadata"]["name"] for item in answer["items"]] == ["new"]
    assert "SchedulerProfile odd cannot be taken in" in caplog.messages[0]
