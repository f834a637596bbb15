"""Requests to an API server: what is sent, and what each kind of failure becomes."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scheduler_runtime.kube.client import ApiError, Client, NoResponseError, RateLimit
from scheduler_runtime.kube.credentials import Credentials, FileToken
from scheduler_runtime.kube.log_once import LogOnce
from tests.scheduler_runtime.kube.http2.server import Act, ReceivedRequest, Server
from tests.scheduler_runtime.kube.http2.server import serving as http2_serving
from tests.support.scripted import Script, hangs, refuses, resets, says, serving


async def test_a_body_goes_as_json_and_comes_back_as_bytes() -> None:
    script = Script([says({"b": 2})])
    async with serving(script) as client:
        answer = await client.request("PATCH", "/x", body={"a": 1}, content_type="application/merge-patch+json")
    assert answer == b'{"b": 2}'
    assert (script.received[0].body, script.received[0].content_type) == ({"a": 1}, "application/merge-patch+json")


async def test_a_refusal_brings_status_reason_and_the_servers_words() -> None:
    async with serving(Script([refuses(409, "Conflict", "somebody was faster", **{"Retry-After": "7"})])) as client:
        with pytest.raises(ApiError, match="409 Conflict: somebody was faster") as caught:
            await client.request("GET", "/x")
    assert (caught.value.status, caught.value.reason, caught.value.retry_after) == (409, "Conflict", 7)


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [("3600", 30), ("0", 0), ("-1", 0), ("inf", 0), ("nan", 0), ("Thu, 19 Nov 2026 01:00:00 GMT", 0)],
)
async def test_whoever_is_to_come_later_comes_within_half_a_minute(retry_after: str, seconds: float) -> None:
    async with serving(Script([refuses(429, "TooManyRequests", "later", **{"Retry-After": retry_after})])) as client:
        with pytest.raises(ApiError) as caught:
            await client.request("GET", "/x")
    assert caught.value.retry_after == seconds


async def test_an_answer_cut_off_may_have_been_carried_out() -> None:
    async with serving(Script([resets])) as client:
        with pytest.raises(NoResponseError) as caught:
            await client.request("POST", "/x", body={})
    assert caught.value.sent


async def test_no_answer_in_time_may_have_been_carried_out() -> None:
    async with serving(Script([hangs])) as client:
        with pytest.raises(NoResponseError, match="no answer in time") as caught:
            await client.request("POST", "/x", seconds=0.1)
    assert caught.value.sent


async def test_both_tries_of_a_request_have_one_time_out() -> None:
    async def refuses_late(request: Any) -> Any:
        await asyncio.sleep(0.6)
        return await refuses(401)(request)

    async with serving(Script([refuses_late, hangs])) as client:
        began = time.monotonic()
        with pytest.raises(NoResponseError, match="no answer in time"):
            await client.request("POST", "/x", seconds=0.8)
    assert time.monotonic() - began < 0.6 + 0.8


async def test_a_refused_token_is_read_again_and_the_request_repeated(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    source = FileToken(file)
    assert source.token() == "old"
    file.write_text("new")
    script = Script([refuses(401), says({})])
    async with serving(script, source=source) as client:
        await client.request("GET", "/x")
    assert [request.authorization for request in script.received] == ["Bearer old", "Bearer new"]


async def test_a_token_that_stays_refused_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    file = tmp_path / "token"
    file.write_text("bad")
    script = Script([refuses(401)] * 6)
    async with serving(script, source=FileToken(file)) as client:
        for _ in range(3):
            with pytest.raises(ApiError):
                await client.request("GET", "/x")
        await client.request("GET", "/x")
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "refuses our credentials (401)" in caplog.records[0].getMessage()


async def test_a_token_that_cannot_be_read_is_a_sentence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Client(Credentials("http://127.0.0.1:9", source=FileToken(tmp_path / "none")), "tests") as client:
        with pytest.raises(NoResponseError, match="cannot read the token"):
            await client.request("GET", "/x")
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path}/none: cannot read the token: No such file or directory"
    ]


async def test_a_server_with_a_path_keeps_it() -> None:
    script = Script()
    async with (
        serving(script) as client,
        Client(Credentials(f"{client.server}/clusters/one"), "tests") as below,
    ):
        await below.request("GET", "/api/v1/pods")
    assert script.received[0].path == "/clusters/one/api/v1/pods"


def test_a_throttle_lets_a_burst_through_and_then_spaces_requests() -> None:
    now = [0.0]
    throttle = RateLimit(10, 3, clock=lambda: now[0])
    assert [round(throttle.reserve(), 3) for _ in range(5)] == [0, 0, 0, 0.1, 0.2]
    now[0] = 10.0
    assert [round(throttle.reserve(), 3) for _ in range(4)] == [0, 0, 0, 0.1]


def test_a_negative_rate_is_no_limit() -> None:
    throttle = RateLimit(-1, 0)
    assert {throttle.reserve() for _ in range(1000)} == {0.0}


# Over HTTP/2, where the server speaks it.


def client_of(server: Server) -> Client:
    return Client(server.credentials, "tests")


async def test_requests_share_a_connection_and_large_answers_have_their_own() -> None:
    async with http2_serving("h2", "http/1.1") as server, client_of(server) as client:
        body = {"a": 1}
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(client.request("POST", "/x", params={"b": "c d"}, body=body))
        await client.get("/pods", {"limit": "1"}, "application/json")
    assert [visit.speaks for visit in server.visits] == ["h2", None]
    paths = [request.fields[":path"] for request in server.received]
    assert paths == ["/x?b=c+d"] * 20 + ["/pods?limit=1"]
    assert server.received[0].body == b'{"a":1}'


async def test_a_refusal_over_http2_is_the_same() -> None:
    def refuse(request: ReceivedRequest) -> None:
        request.answer(429, b'{"reason":"TooManyRequests","message":"later"}', retry_after="7")

    async with http2_serving("h2", act=refuse) as server, client_of(server) as client:
        with pytest.raises(ApiError, match="429 TooManyRequests: later") as caught:
            await client.request("GET", "/x")
    assert (caught.value.status, caught.value.retry_after) == (429, 7)


@pytest.mark.parametrize(
    ("act", "sent", "why"),
    [
        pytest.param(ReceivedRequest.refuse, False, "the server refused the request", id="refused"),
        pytest.param(lambda request: request.visit.transport.abort(), True, "closed the connection", id="cut"),
        pytest.param(id, True, "no answer in time", id="silent"),
    ],
)
async def test_no_answer_over_http2_says_whether_the_request_may_have_been_carried_out(
    act: Act, sent: bool, why: str
) -> None:
    async with http2_serving("h2", act=act) as server, client_of(server) as client:
        with pytest.raises(NoResponseError, match=why) as caught:
            await client.request("POST", "/x", body={}, seconds=0.3 if why == "no answer in time" else 30)
    assert caught.value.sent == sent


@pytest.mark.parametrize("speaks", [[], ["http/1.1"]])
async def test_a_server_without_http2_gets_every_request_once_and_is_noticed_once(speaks: list[str]) -> None:
    async with http2_serving(*speaks) as server, client_of(server) as client:
        async with asyncio.TaskGroup() as group:
            for number in range(10):
                group.create_task(client.request("POST", f"/{number}", body={}))
        await client.request("POST", "/last", body={})
    assert sorted(request.fields[":path"] for request in server.received) == sorted(
        [*(f"/{n}" for n in range(10)), "/last"]
    )
    assert server.knocks == 1 + len({id(request.visit) for request in server.received})


async def test_what_may_not_leave_is_not_sent() -> None:
    def stop() -> None:
        raise LookupError("not the leader any more")

    async with http2_serving("h2") as server, client_of(server) as client:
        await client.request("GET", "/first")
        with pytest.raises(LookupError, match="not the leader any more"):
            await client.request("POST", "/x", body={}, before_send=stop)
        await client.request("GET", "/last")
    assert [request.fields[":path"] for request in server.received] == ["/first", "/last"]


async def test_two_clients_of_a_server_that_is_away_say_so_once(caplog: pytest.LogCaptureFixture) -> None:
    trouble = LogOnce(logging.getLogger("tests"))
    credentials = Credentials("http://127.0.0.1:9")
    clients = [Client(credentials, name, unreachable_log=trouble) for name in ("a", "b")]
    async with clients[0] as first, clients[1] as second:
        for client in (first, second):
            with pytest.raises(NoResponseError, match="cannot be reached"):
                await client.request("GET", "/x")
    assert [record.getMessage() for record in caplog.records] == [
        "API server http://127.0.0.1:9 cannot be reached: Connection refused"
    ]


async def test_an_answer_over_an_open_connection_does_not_say_that_others_can_be_opened(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with http2_serving("h2") as server, client_of(server) as client:
        await client.request("GET", "/x")
        place, client._endpoint = client._endpoint, replace(client._endpoint, port=9)
        for _ in range(3):
            with pytest.raises(NoResponseError, match="cannot be reached"):
                async with client.stream("/watch", params={}, silence_seconds=1):
                    pass
            await client.request("GET", "/x")
        assert len(caplog.records) == 1
        client._endpoint = place
        await client.get("/x", {}, "application/json")
    assert caplog.records[-1].getMessage().startswith("over after")


async def test_that_a_server_takes_no_requests_is_over_with_its_next_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    acts = [ReceivedRequest.refuse] * 6
    async with (
        http2_serving("h2", act=lambda request: (acts.pop() if acts else ReceivedRequest.answer)(request)) as server,
        client_of(server) as client,
    ):
        with pytest.raises(NoResponseError, match="takes no requests") as caught:
            await client.request("GET", "/x")
        await client.request("GET", "/x")
        assert len(server.visits) == 1
    assert not caught.value.sent
    messages = [record.getMessage() for record in caplog.records]
    assert messages[0].endswith("takes no requests: the server refused the request")
    assert messages[1].startswith("over after")


class SlowToken:
    """A token that takes its time, and is not good."""

    def token(self) -> str:
        time.sleep(0.3)
        return "bad"

    def invalidate(self) -> None:
        """There is no other."""


async def test_a_request_is_not_repeated_with_a_new_token_when_its_time_is_over() -> None:
    async with http2_serving("h2", act=lambda request: request.answer(401, b"{}")) as server:
        credentials = replace(server.credentials, source=SlowToken(), is_slow=True)
        async with Client(credentials, "tests") as client:
            with pytest.raises(NoResponseError, match="no answer in time"):
                await client.request("GET", "/x", seconds=0.2)
            assert len(server.received) == 1
            assert [visit.is_closed for visit in server.visits] == [False], "the others lost their connection"


async def test_http2_is_offered_again_in_time_to_a_server_that_lacked_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler_runtime.kube.client.HTTP1_SECONDS", 0.0)
    async with http2_serving("http/1.1") as server, client_of(server) as client:
        for _ in range(2):
            await client.request("GET", "/x")
    assert server.knocks == 3
