"""The Lease over real sockets: what a server can do to an exchange."""

from __future__ import annotations

import contextlib
import http.server
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scheduler_runtime.kube.credentials import Credentials, FileToken
from scheduler_runtime.kube.leader_election import HttpLeaseClient, LeaseError
from tests.support.threads import in_a_thread

Handler = http.server.BaseHTTPRequestHandler
Answer = Callable[[Handler], None]
PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"


def say(status: int, body: Any) -> Answer:
    def answer(request: Handler) -> None:
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(payload)))
        request.end_headers()
        request.wfile.write(payload)

    return answer


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    answers: list[Answer]
    requests: list[tuple[str, str, str]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def server() -> Iterator[Server]:
    class Reply(Handler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def reply(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            there.requests.append((self.command, self.path, self.headers.get("Authorization", "")))
            there.answers.pop(0)(self)

        do_GET = do_PUT = do_POST = reply  # noqa: N815  the names that http.server looks for

    there = Server(("127.0.0.1", 0), Reply)
    there.answers, there.requests = [], []
    with in_a_thread(there):
        yield there


@pytest.fixture
def leases(server: Server) -> Iterator[HttpLeaseClient]:
    leases = HttpLeaseClient(Credentials(server=server.url), "ns", "one")
    yield leases
    leases.close()


def test_every_verb_goes_to_its_path(server: Server, leases: HttpLeaseClient) -> None:
    server.answers = [say(200, {"a": 1}), say(200, {"b": 2}), say(201, {"c": 3})]
    assert [leases.get(1), leases.update({}, 1), leases.create({}, 1)] == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert [(verb, path) for verb, path, _ in server.requests] == [
        ("GET", f"{PATH}/one"),
        ("PUT", f"{PATH}/one"),
        ("POST", PATH),
    ]


@pytest.mark.parametrize("status", [403, 404, 409, 429, 500])
def test_a_refusal_carries_its_status_and_the_servers_words(
    server: Server, leases: HttpLeaseClient, status: int
) -> None:
    server.answers = [say(status, {"kind": "Status", "message": "for a reason"})]
    with pytest.raises(LeaseError, match="for a reason") as caught:
        leases.get(1)
    assert caught.value.status == status


@pytest.mark.parametrize("payload", [b"<html>", b"[]", b'{"spec": {"holder'])
def test_an_answer_that_is_no_object_is_an_error(server: Server, leases: HttpLeaseClient, payload: bytes) -> None:
    server.answers = [say(200, payload)]
    with pytest.raises(LeaseError, match="not an object"):
        leases.get(1)


def test_a_request_to_a_server_that_never_answers_ends_in_time(server: Server, leases: HttpLeaseClient) -> None:
    server.answers = [lambda _: time.sleep(1.0)]
    began = time.monotonic()
    with pytest.raises(LeaseError, match="timed out"):
        leases.update({}, 0.2)
    assert time.monotonic() - began < 1.0


def test_a_closed_connection_is_replaced_by_the_next_request(server: Server, leases: HttpLeaseClient) -> None:
    def close(request: Handler) -> None:
        request.close_connection = True

    server.answers = [close, say(200, {"fresh": True})]
    with pytest.raises(LeaseError):
        leases.get(1)
    assert leases.get(1) == {"fresh": True}


def test_a_refused_token_is_read_again(server: Server, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    server.answers = [say(401, {"message": "Unauthorized"}), say(200, {})]
    with contextlib.closing(HttpLeaseClient(Credentials(server.url, source=FileToken(token)), "ns", "one")) as there:
        with pytest.raises(LeaseError, match="401"):
            there.get(1)
        token.write_text("new\n")
        there.get(1)
    assert [authorization for _, _, authorization in server.requests] == ["Bearer old", "Bearer new"]


def test_nobody_listening_is_one_sentence() -> None:
    there = HttpLeaseClient(Credentials(server="http://127.0.0.1:9"), "ns", "one")
    with pytest.raises(LeaseError, match=r"GET failed: .*refused"):
        there.get(1)
