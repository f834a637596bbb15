"""Paths and their responses, also while the event loop is busy."""

from __future__ import annotations

import concurrent.futures
import http.client
import socket
import time
from collections.abc import Mapping

import pytest

from scheduler_runtime.component.https import JSON, Check, Endpoints, NotServedError, Page, serve
from scheduler_runtime.component.https.routes import TEXT
from tests.support.pages import get

LIVE: Mapping[str, Check] = {"leaderElection": lambda: None}
PAGES = {"/metrics": Page("text/plain", lambda _: "m 1\n"), "/debug/x": Page(JSON, lambda query: str(list(query)))}
WELL = Endpoints(LIVE, {**LIVE, "shutdown": lambda: None}, PAGES)
ILL = Endpoints(LIVE, {**LIVE, "sched-handler-sync": lambda: "not listed yet: /api/v1/pods"}, PAGES)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/livez", (200, "ok")),
        ("/healthz", (200, "ok")),
        ("/livez/", (200, "ok")),
        ("/readyz/shutdown", (200, "ok")),
        ("/readyz?verbose", (200, "[+]leaderElection ok\n[+]shutdown ok\nreadyz check passed\n")),
        ("/livez?verbose&exclude=leaderElection", (200, "[+]leaderElection excluded: ok\nlivez check passed\n")),
        ("/metrics", (200, "m 1\n")),
        ("/%6detrics/", (200, "m 1\n")),
        ("/x/../metrics", (404, "there are /healthz, /livez, /readyz, /debug/x and /metrics\n")),
        ("/debug/x?compare", (200, "['compare']")),
        ("/livez/shutdown", (404, "there are /healthz, /livez, /readyz, /debug/x and /metrics\n")),
        ("/else", (404, "there are /healthz, /livez, /readyz, /debug/x and /metrics\n")),
    ],
)
def test_each_path_has_its_response(path: str, expected: tuple[int, str]) -> None:
    with serve(WELL, "127.0.0.1", 0) as port:
        assert get(port, path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "/readyz",
            "[+]leaderElection ok\n[-]sched-handler-sync failed: not listed yet: /api/v1/pods\nreadyz check failed\n",
        ),
        (
            "/readyz/sched-handler-sync",
            "[-]sched-handler-sync failed: not listed yet: /api/v1/pods\nreadyz check failed\n",
        ),
    ],
)
def test_a_failed_check_is_named_with_status_500(path: str, expected: str) -> None:
    assert (ILL.respond(path).status, ILL.respond(path).body) == (500, expected)


def test_a_check_that_fails_can_be_excluded_and_an_unknown_one_is_named() -> None:
    assert ILL.respond("/readyz?exclude=sched-handler-sync").body == "ok"
    verbose = WELL.respond("/livez?verbose&exclude=nothing").body
    assert 'warn: some health checks cannot be excluded: no matches for "nothing"\n' in verbose


def test_without_any_check_there_is_a_ping() -> None:
    assert Endpoints().respond("/livez?verbose").body == "[+]ping ok\nlivez check passed\n"
    assert Endpoints().respond("/livez/ping").status == 200


async def test_a_busy_event_loop_does_not_keep_anybody_waiting() -> None:
    with serve(WELL, "127.0.0.1", 0) as port, concurrent.futures.ThreadPoolExecutor() as pool:
        response = pool.submit(get, port, "/livez")
        end = time.monotonic() + 5
        while not response.done() and time.monotonic() < end:  # the loop of this test does nothing else
            pass
        assert response.result(0) == (200, "ok")


def test_a_port_in_use_is_an_error_with_advice() -> None:
    with (
        serve(WELL, "127.0.0.1", 0) as port,
        pytest.raises(
            NotServedError, match=f"127.0.0.1:{port} cannot be served on: Address already in use; .*, or end what"
        ),
        serve(WELL, "127.0.0.1", port),
    ):
        pass


def test_a_page_that_fails_is_an_answer_and_the_next_is_made(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: object) -> str:
        raise ZeroDivisionError

    with serve(Endpoints(pages={"/metrics": Page("text/plain", fails)}), "127.0.0.1", 0) as port:
        assert get(port, "/metrics")[0] == 500
        assert get(port, "/livez") == (200, "ok")
    assert "endpoint failed" in caplog.text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
def test_what_can_only_be_read_says_so(method: str) -> None:
    with serve(WELL, "127.0.0.1", 0) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request(method, "/metrics", body=b"GET /livez HTTP/1.1\r\n\r\n")
        response = connection.getresponse()
        headers = (response.headers["Allow"], response.headers["Content-Type"], response.headers["Connection"])
        assert (response.status, *headers) == (405, "GET, HEAD", TEXT, "close")
        assert response.read().decode().startswith(f"{method} is not allowed: ")
        connection.close()
        assert get(port, "/livez") == (200, "ok")


def test_an_invalid_request_gets_plain_text() -> None:
    with serve(WELL, "127.0.0.1", 0) as port, socket.create_connection(("127.0.0.1", port), timeout=5) as caller:
        caller.sendall(b"GET /livez now HTTP/1.1\r\n\r\n")
        head, _, body = caller.makefile("rb").read().decode().partition("\r\n\r\n")
        assert f"Content-Type: {TEXT}" in head
        assert body == "Bad request: Expected HTTP/, RTSP/ or ICE/\n"


@pytest.mark.parametrize("length", ["", "-1", "x", "9" * 5000])
def test_a_body_whose_length_says_nothing_is_refused_at_once(length: str) -> None:
    with serve(WELL, "127.0.0.1", 0) as port, socket.create_connection(("127.0.0.1", port), timeout=5) as caller:
        caller.sendall(f"POST /metrics HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode())
        assert caller.makefile("rb").readline() == b"HTTP/1.1 400 Bad Request\r\n"


def test_who_sends_much_hears_the_refusal() -> None:
    with serve(WELL, "127.0.0.1", 0) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("POST", "/metrics", body=bytes(5 << 20))
        assert connection.getresponse().status == 405
        connection.close()


def test_a_slow_caller_keeps_nobody_waiting() -> None:
    with serve(WELL, "127.0.0.1", 0) as port, socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"GET /livez HT")
        assert get(port, "/livez") == (200, "ok")


def test_no_other_spelling_of_a_path_is_accepted() -> None:
    assert WELL.respond("//livez/metrics").status == 404
    assert WELL.respond("http://livez/metrics").status == 404
