"""Requests on the wire, and that those of one turn of the event loop are sent together."""

from __future__ import annotations

import asyncio

import pytest
from h2 import events
from hpack import NeverIndexedHeaderTuple

from scheduler_runtime.kube.http.request_writer import Request, RequestWriter
from scheduler_runtime.kube.http2 import StreamRefusedError, connection
from tests.scheduler_runtime.kube.http2.peer import GET, POST, Within, ask, greeted, outcome

WRITER = RequestWriter("server:6443", "berth/1")
BINDING = Request("POST", "/api/v1/namespaces/a/pods/b/binding?x=%20", "application/json", "application/json", b"{}")


async def test_requests_of_one_turn_leave_in_one_write() -> None:
    async with greeted() as peer:
        before = len(peer.writes)
        tasks = [ask(peer, POST, b"body") for _ in range(40)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(peer.writes) == before + 1
        await peer.settle()
        assert [request.body for request in peer.received.values()] == [b"body"] * 40
        for stream in peer.received:
            peer.answer(stream)
        await peer.settle()
        assert {task.result().status for task in tasks} == {200}


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
async def test_answers_find_their_requests_in_whatever_order_and_pieces_they_come(piece: int) -> None:
    async with greeted(piece=piece) as peer:
        tasks = [ask(peer) for _ in range(50)]
        await peer.settle()
        streams = [*list(peer.received)[::3], *list(peer.received)[1::3], *list(peer.received)[2::3]]
        for stream in streams:
            peer.judge.send_headers(stream, [(":status", "200")])
        for part in range(3):
            for stream in streams if part % 2 else reversed(streams):
                peer.judge.send_data(stream, f"{stream}/{part} ".encode(), end_stream=part == 2)
        await peer.settle()
        assert [task.result().body for task in tasks] == [
            f"{stream}/0 {stream}/1 {stream}/2 ".encode() for stream in range(1, 100, 2)
        ]


async def test_fields_arrive_as_they_were_encoded() -> None:
    async with greeted() as peer:
        ask(peer, WRITER.http2_headers(BINDING, {"Authorization": "Bearer secret", "X-Other": "é"}), BINDING.body)
        await peer.settle()
        assert peer.received[1].fields == [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", "server:6443"),
            (":path", BINDING.target),
            ("accept-encoding", "identity"),
            ("accept", "application/json"),
            ("user-agent", "berth/1"),
            ("content-type", "application/json"),
            ("content-length", "2"),
            ("authorization", "Bearer secret"),
            ("x-other", "é"),
        ]
        never_indexed = [isinstance(field, NeverIndexedHeaderTuple) for field in peer.received[1].fields]
        assert never_indexed == [False] * 9 + [True] * 2


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_methods_arrive(method: str) -> None:
    async with greeted() as peer:
        ask(peer, WRITER.http2_headers(Request(method, "/x"), {}))
        await peer.settle()
        assert peer.received[1][":method"] == method
        assert peer.received[1].is_complete


@pytest.mark.parametrize("length", [0, 126, 127, 128, 254, 255, 16_000, 16_384, 50_000])
async def test_tokens_of_any_length_arrive(length: int) -> None:
    token = "x" * length
    async with greeted(max_header_list_size=1 << 17) as peer:
        for body in (b"", b"{}"):
            ask(peer, WRITER.http2_headers(BINDING._replace(body=body), {"Authorization": token}), body)
        await peer.settle()
        assert [(request["authorization"], request.is_complete) for request in peer.received.values()] == [
            (token, True)
        ] * 2


async def test_another_token_is_sent_when_who_asks_has_another() -> None:
    async with greeted() as peer:
        for token in ("old", "old", "new", "old"):
            ask(peer, WRITER.http2_headers(BINDING, {"Authorization": token}), BINDING.body)
        await peer.settle()
        assert [request["authorization"] for request in peer.received.values()] == ["old", "old", "new", "old"]


async def test_our_settings_reach_the_server() -> None:
    async with greeted() as peer:
        settings = peer.events_of(events.RemoteSettingsChanged)[0].changed_settings
        assert {int(code): setting.new_value for code, setting in settings.items()} == {1: 0, 2: 0, 4: 2**31 - 1}
        assert peer.events_of(events.SettingsAcknowledged)


async def test_a_connection_that_has_used_up_its_numbers_answers_the_last_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "LAST_STREAM", 3)
    async with greeted() as peer:
        tasks = []
        for stream in (1, 3):
            assert not peer.is_closed
            tasks.append(ask(peer))
            await peer.settle()
            peer.answer(stream, body=b"%d" % stream)
            await peer.settle()
        assert [task.result().body for task in tasks] == [b"1", b"3"]
        assert peer.is_closed
        assert isinstance(await outcome(ask(peer, GET)), StreamRefusedError)


async def test_the_guard_is_called_right_before_sending_however_long_the_turn_takes() -> None:
    class NotNowError(Exception):
        pass

    may_leave = True

    def allow() -> None:
        if not may_leave:
            raise NotNowError

    async with greeted() as peer:
        await peer.connection.slots.acquire()
        leaving = Within(60.0, allow)
        task = asyncio.ensure_future(peer.connection.request(GET, b"", leaving))
        await asyncio.sleep(0)  # it was asked for, and something else has its turn before it is written
        may_leave = False
        with pytest.raises(NotNowError):
            await task
        await peer.settle()
        assert peer.received == {}
        assert peer.connection.slots._free == peer.connection.slots._count


async def test_a_request_that_is_cancelled_before_it_is_sent_never_is() -> None:
    async with greeted() as peer:
        task = ask(peer)
        await asyncio.sleep(0)
        task.cancel()
        await peer.settle()
        assert peer.received == {}
        assert peer.connection.slots._free == peer.connection.slots._count


async def test_a_request_of_the_turn_in_which_the_server_says_goodbye_was_surely_not_sent() -> None:
    async with greeted() as peer:
        task = ask(peer)
        await asyncio.sleep(0)
        peer.judge.close_connection()
        peer.tell(peer.judge.data_to_send())
        assert isinstance(await outcome(task), StreamRefusedError)
        assert peer.received == {}
