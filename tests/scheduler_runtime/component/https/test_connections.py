"""Clients that are slow, silent, many or odd: each loses its own connection, and nobody else's answer waits."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_runtime.component.https import (
    Access,
    AccessRules,
    Caller,
    Endpoints,
    Page,
    TlsSettings,
    choose_certificate,
    serve,
)
from scheduler_runtime.component.https import connection as connections
from scheduler_runtime.component.https import server as servers
from tests.support.pages import get

LONG = "x" * (20 << 20)
ENDPOINTS = Endpoints(pages={"/long": Page("text/plain", lambda _: LONG)})
LIVEZ = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
UNVERIFIED = ssl._create_unverified_context()  # noqa: S323 - servers of tests sign their certificates themselves


@pytest.fixture
def plain() -> Iterator[int]:
    """The port of a server without TLS."""
    with serve(ENDPOINTS, "127.0.0.1", 0) as port:
        yield port


@contextlib.contextmanager
def client(port: int, source: str = "127.0.0.1") -> Iterator[socket.socket]:
    """A connection from this address."""
    with socket.create_connection(("127.0.0.1", port), 30, (source, 0)) as caller:
        yield caller


def responses(caller: socket.socket) -> list[bytes]:
    """All that comes until the server ends the connection, cut into responses."""
    received = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while part := caller.recv(1 << 16):
            received += part
    return responses_in(bytes(received))


def responses_in(received: bytes) -> list[bytes]:
    """The responses in what was received."""
    return [b"HTTP/1.1 " + response for response in received.split(b"HTTP/1.1 ")[1:]]


def is_open(caller: socket.socket) -> bool:
    """Whether the server still answers on this connection."""
    with contextlib.suppress(OSError):
        caller.sendall(LIVEZ)
        return caller.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
    return False


# Time


def trickle(caller: socket.socket, data: bytes) -> None:
    """Send a byte now and then until the server ends the connection; there is no end of ``data``."""
    caller.settimeout(0.02)
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        for byte in itertools.chain(data, itertools.repeat(ord("a"))):
            caller.sendall(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                if not caller.recv(1 << 16):
                    return


@pytest.mark.parametrize("data", [b"GET /livez HTTP/1.1\r\nA: ", LIVEZ + LIVEZ + b"GET /"], ids=["first", "later"])
def test_a_head_that_comes_byte_by_byte_has_a_time_in_all(
    data: bytes, plain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    with client(plain) as caller:
        caller.sendall(data)
        trickle(caller, b"")


def test_a_handshake_that_comes_byte_by_byte_has_a_time_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    certificate = choose_certificate(TlsSettings(), "127.0.0.1")
    with serve(ENDPOINTS, "127.0.0.1", 0, certificate=certificate) as port, client(port) as caller:
        trickle(caller, b"\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03")


@pytest.mark.parametrize("stage", ["HEAD_SECONDS", "IDLE_SECONDS"])
def test_a_silent_connection_ends(stage: str, plain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, stage, 0.3)
    with client(plain) as caller:
        if stage == "IDLE_SECONDS":
            assert is_open(caller)
        assert responses(caller) == []


def test_a_response_that_nobody_reads_ends_and_keeps_no_other_waiting(
    plain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "RESPONSE_SECONDS", 1.0)
    with client(plain) as caller:
        caller.sendall(b"GET /long HTTP/1.1\r\n\r\n")
        head = caller.recv(100, socket.MSG_PEEK)
        assert head.startswith(b"HTTP/1.1 200")
        assert get(plain, "/livez") == (200, "ok")
        # Until the server gives up no byte is read; what its and our kernel hold by then is a part of the page.
        sender = threading.Thread(target=_until_reset, args=(caller,), daemon=True)
        sender.start()
        sender.join(30)
        assert not sender.is_alive()
        assert sum(map(len, responses(caller))) < len(LONG)


def _until_reset(caller: socket.socket) -> None:
    """Send what the server does not read until it has reset the connection."""
    with contextlib.suppress(OSError):
        while not threading.Event().wait(0.05):
            caller.sendall(b"x")


def test_a_long_page_comes_whole(plain: int) -> None:
    assert get(plain, "/long") == (200, LONG)
    certificate = choose_certificate(TlsSettings(), "127.0.0.1")
    with serve(ENDPOINTS, "127.0.0.1", 0, certificate=certificate) as port:
        assert get(port, "/long", scheme="https") == (200, LONG)


def test_a_slow_client_gets_each_of_its_responses_whole_and_in_order() -> None:
    released = threading.Event()

    def slow(_: object) -> str:
        released.wait(30)
        return "slow"

    pages = {"/long": Page("text/plain", lambda _: LONG), "/slow": Page("text/plain", slow)}
    with serve(Endpoints(pages=pages), "127.0.0.1", 0) as port, client(port) as caller:
        caller.sendall(b"GET /long HTTP/1.1\r\n\r\nGET /slow HTTP/1.1\r\n\r\nGET /livez HTTP/1.0\r\n\r\n")
        received = bytearray()
        while len(received) < received.find(b"\r\n\r\n") + 4 + len(LONG):
            received += caller.recv(1 << 14)
        released.set()
        first, second, third = responses_in(bytes(received) + b"".join(responses(caller)))
        assert first.endswith(LONG.encode())
        assert (second[-4:], third[-2:]) == (b"slow", b"ok")


def send_without_end(caller: socket.socket) -> None:
    """Send requests until that fails."""
    while True:
        caller.sendall(LIVEZ * 1000)


def test_a_client_that_asks_without_end_and_reads_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CLOSING_SECONDS", 0.3)
    certificate = choose_certificate(TlsSettings(), "127.0.0.1")
    with serve(ENDPOINTS, "127.0.0.1", 0, certificate=certificate) as port, client(port) as caller:
        with UNVERIFIED.wrap_socket(caller) as secured, pytest.raises(OSError, match=r"\w") as ended:
            send_without_end(secured)
        assert not isinstance(ended.value, TimeoutError)
        assert get(port, "/livez", scheme="https") == (200, "ok")


# Crowds


def test_the_idlest_connection_goes_instead_of_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "CONNECTIONS", 3)
    with serve(ENDPOINTS, "127.0.0.1", 0) as port, contextlib.ExitStack() as stack:
        first, second, third = (stack.enter_context(client(port)) for _ in range(3))
        assert all(map(is_open, (third, second, first)))
        assert get(port, "/livez") == (200, "ok")
        assert [is_open(caller) for caller in (first, second, third)] == [True, True, False]


def test_an_address_with_many_connections_loses_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "CONNECTIONS", 4)
    with serve(ENDPOINTS, "127.0.0.1", 0) as port, contextlib.ExitStack() as stack:
        scraper = stack.enter_context(client(port))
        assert is_open(scraper)
        many = [stack.enter_context(client(port, "127.0.0.2")) for _ in range(8)]
        assert is_open(many[-1])
        assert is_open(scraper)


class SlowApiServer:
    """Allows everything, but what begins with /slow only after ``released``."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.reviews = threading.Semaphore(0)
        self.paths: list[str] = []

    def caller(self, token: str) -> Caller | None:
        raise NotImplementedError

    def allows(self, caller: Caller, verb: str, path: str) -> tuple[bool, str]:
        self.paths.append(path)
        self.reviews.release()
        if path.startswith("/slow"):
            self.released.wait(30)
        return True, ""

    def wait_for_reviews(self, count: int) -> None:
        """Return when so many more have begun."""
        for _ in range(count):
            assert self.reviews.acquire(timeout=30)


@pytest.fixture
def api_server() -> Iterator[SlowApiServer]:
    """An API server whose answers wait until the test ends, or releases them."""
    api_server = SlowApiServer()
    yield api_server
    api_server.released.set()


def send_slow_requests(callers: list[socket.socket]) -> None:
    """Send a request on each connection, of a path that nobody knows yet."""
    for number, caller in enumerate(callers):
        caller.sendall(f"GET /slow/{number} HTTP/1.1\r\n\r\n".encode())


def test_health_answers_while_every_thread_waits_for_the_api_server(
    api_server: SlowApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "THREADS", 2)
    access = Access(api_server, AccessRules())
    with serve(ENDPOINTS, "127.0.0.1", 0, access=access) as port, contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(client(port)) for _ in range(4)]
        send_slow_requests(waiting)
        api_server.wait_for_reviews(2)
        assert get(port, "/livez") == (200, "ok")
        assert get(port, "/readyz?verbose") == (200, "[+]ping ok\nreadyz check passed\n")
        api_server.released.set()
        assert [caller.recv(12) for caller in waiting] == [b"HTTP/1.1 404"] * 4


def test_a_client_that_goes_away_as_its_response_ends_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(servers, "THREADS", 1)
    transports: Any = asyncio.selector_events
    write_eof, may_go_on = transports._SelectorSocketTransport.write_eof, threading.Event()
    leaving: list[socket.socket] = []

    def leave_and_write_eof(transport: Any) -> None:
        for caller in leaving:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, no orderly end
            caller.close()
        leaving.clear()
        write_eof(transport)

    monkeypatch.setattr(transports._SelectorSocketTransport, "write_eof", leave_and_write_eof)
    page = Page("text/plain", lambda _: str(may_go_on.wait(10)))
    with serve(Endpoints(pages={"/page": page}), "127.0.0.1", 0) as port, client(port) as first, client(port) as second:
        for caller in (first, second):
            caller.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert get(port, "/livez")[0] == 200  # the request before has arrived
        leaving.append(first)
        may_go_on.set()
        (response,) = responses(second)
    assert response.endswith(b"True")
    assert caplog.messages == []


def test_pages_of_one_address_leave_threads_for_those_of_others(
    api_server: SlowApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "THREADS", 3)
    monkeypatch.setattr(servers, "THREADS_PER_ADDRESS", 2)
    access = Access(api_server, AccessRules())
    with serve(ENDPOINTS, "127.0.0.1", 0, access=access) as port, contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(client(port, "127.0.0.2")) for _ in range(5)]
        send_slow_requests(waiting)
        api_server.wait_for_reviews(2)
        for _ in range(2):
            assert get(port, "/long") == (200, LONG)
        assert sum(path.startswith("/slow") for path in api_server.paths) == 2
        api_server.released.set()
        assert [caller.recv(12) for caller in waiting] == [b"HTTP/1.1 404"] * 5


def test_a_request_whose_connection_was_ended_is_not_reviewed(
    api_server: SlowApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "CONNECTIONS", 4)
    monkeypatch.setattr(servers, "THREADS", 2)
    access = Access(api_server, AccessRules())
    with serve(ENDPOINTS, "127.0.0.1", 0, access=access) as port, contextlib.ExitStack() as stack:
        callers = [stack.enter_context(client(port)) for _ in range(2)]
        send_slow_requests(callers)
        api_server.wait_for_reviews(2)
        for number in range(20):
            callers.append(stack.enter_context(client(port)))
            assert is_open(callers[-1])  # so the server has read what the one before sent
            callers[-1].sendall(f"GET /later/{number} HTTP/1.1\r\n\r\n".encode())
        # All but the last few have been sent away, before the API server answers.
        assert all(responses(caller) == [] for caller in callers[2:10])
        api_server.released.set()
        assert callers[-1].recv(12) == b"HTTP/1.1 404"
        assert len(api_server.paths) <= 2 + 4


# Odd requests


@pytest.mark.parametrize(
    ("request_bytes", "statuses"),
    [
        pytest.param(LIVEZ + LIVEZ + b"GET /livez HTTP/1.0\r\n\r\n", [200, 200, 200], id="one-after-the-other"),
        pytest.param(LIVEZ * 17, [200] * 16 + [429], id="too-many-at-once"),
        pytest.param(LIVEZ * 2000, [200] * 16 + [429], id="far-too-many-at-once"),
        pytest.param(LIVEZ[:-2] + b"Content-Length: 36\r\n\r\n" + LIVEZ, [200], id="a-body-is-no-request"),
        pytest.param(LIVEZ[:-2] + b"Content-Length: 0\r\n\r\n" + LIVEZ[:-2] + b"Connection: close\r\n\r\n", [200, 200],
                     id="an-empty-body"),
        pytest.param(LIVEZ[:-2] + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + LIVEZ, [200], id="chunks"),
        pytest.param(LIVEZ[:-2] + b"Content-Length: 5\r\nContent-Length: 0\r\n\r\n" + LIVEZ, [400], id="two-lengths"),
        pytest.param(LIVEZ[:-2] + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + LIVEZ, [400],
                     id="length-and-chunks"),
        pytest.param(LIVEZ[:-2] + b"Transfer-Encoding: gzip\r\n\r\n" + LIVEZ, [200], id="unknown-coding"),
        pytest.param(LIVEZ[:-2] + b"Content-Length : 5\r\n\r\n" + LIVEZ, [400], id="space-before-the-colon"),
        pytest.param(LIVEZ[:-2] + b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + LIVEZ, [200], id="upgrade"),
        pytest.param(b"CONNECT a:1 HTTP/1.1\r\n\r\n" + LIVEZ, [405], id="connect"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400], id="http2"),
        pytest.param(b"get /livez HTTP/1.1\r\n\r\n", [405], id="no-method"),
        pytest.param(LIVEZ + b"\xff\xfe\r\n\r\n", [200, 405], id="rubbish-after-a-request"),
        pytest.param(b"GET /livez HTTP/1.1\r\nA: " + b"a" * (70 << 10), [431], id="long-field"),
        pytest.param(b"GET /livez HTTP/1.1\r\n" + b"a: b\r\n" * (12 << 10), [431], id="many-fields"),
        pytest.param(b"GET /" + b"a" * (70 << 10), [431], id="endless-target"),
        pytest.param(b"GET /livez?" + b"exclude=a&" * 5000 + b" HTTP/1.1\r\n\r\n", [414], id="long-target"),
    ],
)  # fmt: skip
def test_odd_requests_are_answered_once_and_end_their_connection(
    request_bytes: bytes, statuses: list[int], plain: int
) -> None:
    with client(plain) as caller:
        caller.sendall(request_bytes)
        assert [int(response.split()[1]) for response in responses(caller)] == statuses
    assert get(plain, "/livez") == (200, "ok")


def test_closing_while_clients_are_in_every_stage_leaves_nothing_behind() -> None:
    certificate = choose_certificate(TlsSettings(), "127.0.0.1")
    with contextlib.ExitStack() as stack:
        with serve(ENDPOINTS, "127.0.0.1", 0, certificate=certificate) as port:
            callers = [stack.enter_context(client(port)) for _ in range(40)]
            for caller in callers[:10]:
                caller.sendall(b"\x16\x03\x01")
            for caller in callers[10:20]:
                secured = stack.enter_context(UNVERIFIED.wrap_socket(caller))
                secured.sendall(b"GET /long HTTP/1.1\r\n\r\n")
        for caller in callers[20:]:
            assert responses(caller) == []


def test_head_has_no_body_and_the_connection_stays(plain: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", plain, timeout=30)
    for _ in range(2):
        connection.request("HEAD", "/livez")
        response = connection.getresponse()
        assert (response.status, response.headers["Content-Length"], response.read()) == (200, "2", b"")
    connection.close()


def test_a_client_that_ends_its_side_is_still_answered(plain: int) -> None:
    with client(plain) as caller:
        caller.sendall(b"GET /long HTTP/1.1\r\n\r\n")
        caller.shutdown(socket.SHUT_WR)
        assert sum(map(len, responses(caller))) > len(LONG)
