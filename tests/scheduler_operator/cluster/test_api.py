"""Requests against a server that answers as an API server does, and as one that is in trouble."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from scheduler_operator.cluster.api import APPLY, ApiConnection, CountRequest, RequestError, RequestNumbers
from scheduler_operator.cluster.credentials import Credentials
from scheduler_operator.cluster.objects import ClusterObjects
from scheduler_operator.cluster.user_objects import UserObjects
from tests.scheduler_operator.builders import kubeconfig, profile
from tests.support.threads import in_a_thread

FORBIDDEN = {"kind": "Status", "reason": "Forbidden", "message": 'pods is forbidden: User "me" cannot list'}


@dataclass
class Server:
    """Sends scripted answers, and records the requests."""

    answers: list[tuple[int, str]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            state.requests.append(
                {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": body.decode()}
            )
            status, text = state.answers.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_PATCH = answer  # noqa: N815 - as the base class calls them

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = http.server_address[1]
    with in_a_thread(http):
        yield state


def ask(port: int, directory: Path, *request: Any, count: CountRequest = lambda *_: None, **more: Any) -> Any:
    """Send one request as a process of its own would."""

    async def send() -> Any:
        credentials = Credentials(kubeconfig(directory, f"http://127.0.0.1:{port}"))
        api = ApiConnection(credentials, "berth-operator/test", count)
        try:
            return await api.request(*request, **more)
        finally:
            await api.finish()

    return asyncio.run(send())


def test_a_request_carries_body_headers_and_query(server: Server, tmp_path: Path) -> None:
    server.answers = [(200, '{"kind": "Pod"}')]
    query = {"fieldManager": "berth", "force": "true"}
    answer = ask(server.port, tmp_path, "PATCH", "/api/v1/pods/x", {"a": 1}, query=query, content_type=APPLY)
    assert answer == {"kind": "Pod"}
    (request,) = server.requests
    assert (request["method"], request["path"]) == ("PATCH", "/api/v1/pods/x?fieldManager=berth&force=true")
    assert json.loads(request["body"]) == {"a": 1}
    assert request["headers"]["Content-Type"] == APPLY
    assert request["headers"]["Authorization"] == "Bearer first"
    assert request["headers"]["User-Agent"] == "berth-operator/test"


def test_a_refusal_is_reported_in_the_servers_words(server: Server, tmp_path: Path) -> None:
    server.answers = [(403, json.dumps(FORBIDDEN))]
    with pytest.raises(RequestError) as caught:
        ask(server.port, tmp_path, "GET", "/api/v1/pods")
    assert (caught.value.status, caught.value.reason) == (403, "Forbidden")
    assert str(caught.value) == f"GET /api/v1/pods: 403 Forbidden: {FORBIDDEN['message']}"


def test_a_token_that_is_refused_is_read_again_and_the_request_repeated(server: Server, tmp_path: Path) -> None:
    server.answers = [(401, "{}"), (200, "{}")]
    ask(server.port, tmp_path, "GET", "/version")
    assert [request["headers"]["Authorization"] for request in server.requests] == ["Bearer first", "Bearer first"]


def test_every_request_is_counted_with_its_times_and_sizes(server: Server, tmp_path: Path) -> None:
    counted: list[tuple[int, str, RequestNumbers | None]] = []

    def count(status: int, method: str, numbers: RequestNumbers | None) -> None:
        counted.append((status, method, numbers))

    server.answers = [(401, "{}"), (200, '{"kind": "Pod"}')]
    ask(server.port, tmp_path, "PATCH", "/api/v1/pods/x", {"a": 1}, content_type=APPLY, count=count)
    with pytest.raises(RequestError):
        ask(1, tmp_path, "GET", "/version", count=count)
    assert [(status, method) for status, method, _ in counted] == [(401, "PATCH"), (200, "PATCH"), (0, "GET")]
    (_, _, numbers), (_, _, none) = counted[1:]
    assert numbers is not None
    waited, took, sent, received = numbers
    assert 0 <= waited < 10
    assert 0 < took < 10
    assert (sent, received) == (len('{"a": 1}'), len('{"kind": "Pod"}'))
    assert none is None


def test_a_token_that_stays_refused_is_an_error(server: Server, tmp_path: Path) -> None:
    server.answers = [(401, "{}"), (401, '{"reason": "Unauthorized", "message": "Unauthorized"}')]
    with pytest.raises(RequestError, match="401 Unauthorized"):
        ask(server.port, tmp_path, "GET", "/version")


def test_an_answer_that_is_not_json_is_reported_as_it_is(server: Server, tmp_path: Path) -> None:
    server.answers = [(502, "the proxy is tired")]
    with pytest.raises(RequestError, match="502 Bad Gateway: the proxy is tired"):
        ask(server.port, tmp_path, "GET", "/version")


def test_a_status_that_http_does_not_know_is_reported_as_it_is(server: Server, tmp_path: Path) -> None:
    server.answers = [(529, "too busy")]
    with pytest.raises(RequestError, match="529 Unknown: too busy"):
        ask(server.port, tmp_path, "GET", "/version")


@pytest.mark.parametrize("text", ["<html>welcome", "[1]", ""])
def test_a_success_that_is_no_object_is_an_error(server: Server, tmp_path: Path, text: str) -> None:
    server.answers = [(200, text)]
    with pytest.raises(RequestError, match="200 OK: the answer is not a JSON object") as caught:
        ask(server.port, tmp_path, "GET", "/version")
    assert text in str(caught.value)


def test_no_answer_is_an_error_without_a_status(server: Server, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no answer from the API server") as caught:
        ask(1, tmp_path, "GET", "/version")
    assert caught.value.status == 0
    assert not caught.value.is_missing


def test_what_is_not_there_is_missing(server: Server, tmp_path: Path) -> None:
    server.answers = [(404, '{"reason": "NotFound", "message": "not found"}')]
    with pytest.raises(RequestError) as caught:
        ask(server.port, tmp_path, "GET", "/api/v1/namespaces/x")
    assert caught.value.is_missing


@pytest.mark.parametrize(("status", "is_reported"), [(200, True), (404, False)], ids=["there", "deleted-meanwhile"])
def test_an_object_that_was_deleted_meanwhile_gets_no_status(
    server: Server, tmp_path: Path, status: int, is_reported: bool
) -> None:
    metadata = {"name": "gone", "uid": "1", "generation": 1, "resourceVersion": "7"}
    written = {"kind": "SchedulerProfile", "metadata": metadata, "reason": "NotFound", "message": "gone"}
    server.answers = [(status, json.dumps(written))]

    async def report() -> bool:
        api = ApiConnection(Credentials(kubeconfig(tmp_path, f"http://127.0.0.1:{server.port}")), "me")
        scheduler_profile = await ClusterObjects(api, "berth-system", UserObjects()).report(
            profile("gone"), {"conditions": []}
        )
        await api.finish()
        return scheduler_profile

    assert asyncio.run(report()) is is_reported
