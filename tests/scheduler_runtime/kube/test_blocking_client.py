"""Connections that block a thread, to a server that encrypts: for the Lease, and for what the endpoints ask."""

from __future__ import annotations

import contextlib
import http.server
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from scheduler_runtime.component.https.self_signed import self_signed
from scheduler_runtime.kube.blocking_client import RequestFailedError, new_connection, request
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.kube.leader_election import HttpLeaseClient
from tests.support.threads import in_a_thread


class Reply(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None: ...


@dataclass
class Served:
    """A server at an address, whose certificate is also good for the name that the credentials give it."""

    credentials: Credentials
    called: list[str | None] = field(default_factory=list)
    """By which names it was asked for."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    files = tmp_path / "crt", tmp_path / "key"
    for file, text in zip(files, self_signed("127.0.0.1", 1), strict=True):
        file.write_bytes(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Reply)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    tls = ssl.create_default_context(cafile=files[0])
    there = Served(Credentials(f"https://127.0.0.1:{server.server_port}", tls=tls, server_name="localhost"))
    context.sni_callback = lambda _, name, __: there.called.append(name)
    with in_a_thread(server):
        yield there


def test_a_server_is_addressed_by_the_name_that_its_certificate_is_to_have(served: Served) -> None:
    assert request(served.credentials, "GET", "/x", user_agent="tests") == b"{}"
    with contextlib.closing(HttpLeaseClient(served.credentials, "ns", "one")) as leases:
        assert leases.get(5) == {}
    assert served.called == ["localhost", "localhost"]


def test_a_server_with_a_certificate_for_another_name_is_not_spoken_to(served: Served) -> None:
    with pytest.raises(RequestFailedError, match="not valid for 'elsewhere'"):
        request(replace(served.credentials, server_name="elsewhere"), "GET", "/x", user_agent="tests")


def test_small_requests_are_sent_at_once(served: Served) -> None:
    with contextlib.closing(new_connection(served.credentials, 5)) as connection:
        connection.connect()
        assert connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
