"""Odd requests to the endpoints: nothing that arrives ends or delays them, and no body is taken for a request."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import ssl
from collections.abc import Iterator
from random import Random

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
from tests.fuzz.budget import Budget
from tests.support.pages import get

pytestmark = pytest.mark.thorough

TOTAL = int(os.environ.get("FUZZ", "1000"))
STATUSES = {200, 400, 401, 403, 404, 405, 406, 414, 429, 431}
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
METHODS = (b"GET", b"HEAD", b"POST", b"OPTIONS", b"CONNECT", b"PRI", b"get", b"", b"G\0T", b"X" * 300)
TARGETS = (
    b"/livez", b"/readyz?verbose&exclude=ping", b"/metrics", b"/%6detrics/", b"/flagz", b"/../x", b"*", b"//", b"/\xff",
    b"http://x/livez", b"/livez?" + b"exclude=a&" * 400, b"/livez?" + b"exclude=a&" * 4000,
    b"/" + b"%00" * 50, b"", b"/ /",
)  # fmt: skip
VERSIONS = (b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTTP/1.1 ", b"", b"\n")
FIELDS = (
    b"Host: x", b"Connection: close", b"Connection: keep-alive", b"Connection: Upgrade\r\nUpgrade: h2c",
    b"Expect: 100-continue", b"Authorization: Bearer known", b"Authorization: Bearer \xff\xfe",
    b"Authorization: Basic eA==", b"Accept: */*;q=x, a/b;;;=, text/plain", b"Accept: " + b"a/b," * 2000,
    b"\r\n".join([b"Accept: a"] * 4000),
    b"X: " + b"y" * 5000, b" folded: x", b":", b"X",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: x", b"Content-Length: x",
    b"Content-Length: -1", b"Content-Length: 0", b"Content-Length: 99999999999999999999", b"Content-Length : 3",
)  # fmt: skip
BODIES = (b"", SMUGGLED, b"0\r\n\r\n" + SMUGGLED, b"23\r\n" + SMUGGLED + b"\r\n0\r\n\r\n", b"\0" * 3000)


class Reviewer:
    """Knows one token, and lets its owner read everything."""

    def caller(self, token: str) -> Caller | None:
        return Caller("known") if token == "known" else None

    def allows(self, caller: Caller, verb: str, path: str) -> tuple[bool, str]:
        return caller.name == "known", "\udcff"


def request(random: Random) -> bytes:
    """A request that is right in most of its parts, and whose body, if it has one, looks like another request."""
    usual = random.random() < 0.7
    line = [b"GET", b"/metrics", b"HTTP/1.1"] if usual else [random.choice(of) for of in (METHODS, TARGETS, VERSIONS)]
    fields = random.choices(FIELDS, k=random.choice((0, 1, 1, 2, 5)))
    body = random.choice(BODIES)
    if body and not any(b"Transfer" in field or b"Length" in field for field in fields):
        fields.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([b" ".join(line), *fields, b"", b""]) + body


def mutated(random: Random, data: bytes) -> bytes:
    """``data`` with some of its bytes changed, doubled or left out."""
    for _ in range(random.choice((0, 0, 1, 1, 3))):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((1, 2, 8, 64)))
        piece = random.choice((b"", random.randbytes(random.randrange(9)), data[start:end] * 2, b"\r\n", b"\0"))
        data = data[:start] + piece + data[end:]
    return data


def exchange(port: int, data: bytes) -> bytes:
    """Send ``data``, end our side, and return all that comes back."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), 30) as caller, contextlib.suppress(OSError):
        caller.sendall(data)
        caller.shutdown(socket.SHUT_WR)
        while part := caller.recv(1 << 16):
            received += part
    return received


@pytest.fixture
def asked() -> list[str]:
    """The pages that were made."""
    return []


@pytest.fixture
def endpoints(asked: list[str]) -> Endpoints:
    class Pages(dict[str, Page]):
        def get(self, path: str, default: Page | None = None) -> Page | None:  # type: ignore[override]
            asked.append(path)
            return super().get(path, default)

    return Endpoints(pages=Pages({"/metrics": Page("text/plain", lambda _: "m 1\n")}))


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing may be logged as an error: an exception that ends a connection is."""
    caplog.set_level(logging.WARNING)
    yield
    assert caplog.messages == []


def test_requests(asked: list[str], endpoints: Endpoints, quiet: None) -> None:
    budget = Budget(seconds=1, megabytes=100)
    access = Access(Reviewer(), AccessRules(), clock=iter(range(10**9)).__next__)
    with serve(endpoints, "127.0.0.1", 0, access=access) as port:
        for number in range(TOTAL):
            random = Random(number)  # noqa: S311 - chance, not secrets
            requests = [request(random) for _ in range(random.choice((1, 1, 2, 4)))]
            data = b"".join(requests)
            is_whole = random.random() < 0.5
            data = data if is_whole else mutated(random, data)
            asked.clear()
            with budget.input(data):
                answer = exchange(port, data)
            statuses = {int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]}
            assert statuses <= STATUSES, (data, answer)
            if is_whole:
                assert "/smuggled" not in asked, data
        assert get(port, "/livez") == (200, "ok")
    budget.print("requests to the endpoints")


def hello() -> bytes:
    """The first message of a client's handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl._create_unverified_context().wrap_bio(incoming, outgoing, server_hostname="x")  # noqa: S323
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_handshakes(endpoints: Endpoints, quiet: None) -> None:
    budget = Budget(seconds=1, megabytes=100)
    certificate = choose_certificate(TlsSettings(), "127.0.0.1")
    with serve(endpoints, "127.0.0.1", 0, certificate=certificate) as port:
        assert get(port, "/livez", scheme="https") == (200, "ok")
        first = hello()
        for number in range(TOTAL):
            random = Random(number)  # noqa: S311 - chance, not secrets
            data = mutated(random, mutated(random, first) + random.randbytes(random.choice((0, 5, 500))))
            with budget.input(data):
                exchange(port, data)
        assert get(port, "/livez", scheme="https") == (200, "ok")
    budget.print("handshakes with the endpoints")
