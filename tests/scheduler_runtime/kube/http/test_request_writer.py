"""Encoding of requests. That HTTP/2 decodes to the same is tested with its other requests."""

from __future__ import annotations

import pytest
from hpack import Decoder

from scheduler_runtime.kube.http.request_writer import Request, RequestWriter

GET = Request("GET", "/api/v1/pods?limit=500", "application/json")
POST = Request("POST", "/api/v1/events", content_type="application/json", body=b'{"a":1}')


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            GET,
            b"GET /api/v1/pods?limit=500 HTTP/1.1\r\nHost: server:6443\r\nUser-Agent: berth/1\r\n"
            b"Accept-Encoding: identity\r\nAccept: application/json\r\nContent-Length: 0\r\n"
            b"Authorization: Bearer secret\r\n\r\n",
        ),
        (
            POST,
            b"POST /api/v1/events HTTP/1.1\r\nHost: server:6443\r\nUser-Agent: berth/1\r\n"
            b"Accept-Encoding: identity\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
            b'Content-Length: 7\r\nAuthorization: Bearer secret\r\n\r\n{"a":1}',
        ),
    ],
)
def test_a_request_in_http1_is_whole(request_: Request, expected: bytes) -> None:
    assert (
        RequestWriter("server:6443", "berth/1").http1_request(request_, {"Authorization": "Bearer secret"}) == expected
    )


def test_fields_that_are_encoded_once_do_not_mix() -> None:
    """Requests of different methods, formats and users over one writer, each as if it were the only one."""
    requests = [request._replace(accept=accept) for request in (GET, POST) for accept in ("a", "b")]
    with_identity = [(request, {"Authorization": who}) for request in requests for who in ("me", "you")]
    shared = RequestWriter("server", "berth")
    for request, identity in [*with_identity, *reversed(with_identity)]:
        assert shared.http2_headers(request, identity) == RequestWriter("server", "berth").http2_headers(
            request, identity
        )
        fields = {str(name): str(value) for name, value in Decoder().decode(shared.http2_headers(request, identity))}
        assert (fields[":method"], fields["accept"]) == (request.method, request.accept)
        assert fields["authorization"] == identity["Authorization"]
        assert fields.get("content-type", "") == request.content_type
