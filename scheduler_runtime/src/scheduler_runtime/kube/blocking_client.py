"""Requests to the API server from a thread of one's own, one after the other, over connections that block."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

from scheduler_runtime.kube.credentials import Credentials, CredentialsError

SECONDS = 10.0


class RequestFailedError(Exception):
    """The API server did not do what was asked, or was not reached; the message says why."""


def request(
    credentials: Credentials,
    method: str,
    path: str,
    body: object = None,
    *,
    user_agent: str,
    params: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> bytes:
    """Send one request, on a connection of its own, and return the body of its answer. Raises RequestFailedError."""
    target = urlsplit(credentials.server).path + path + (f"?{urlencode(params)}" if params else "")
    connection = new_connection(credentials, seconds)
    try:
        headers = {"Accept": "application/json", "User-Agent": user_agent, **credentials.headers()}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        payload = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise RequestFailedError(f"{method} {path}: {str(error) or type(error).__name__}") from error
    except CredentialsError as error:
        raise RequestFailedError(str(error)) from error
    finally:
        connection.close()
    if answer.status == http.HTTPStatus.UNAUTHORIZED:
        credentials.reject_token()
    if answer.status >= http.HTTPStatus.BAD_REQUEST:
        raise RequestFailedError(f"{method} {path}: {answer.status}: {_message(payload)}")
    return payload


def _message(payload: bytes) -> str:
    """What the API server says about a refusal."""
    try:
        answer = json.loads(payload)
    except ValueError:
        return payload[:200].decode(errors="replace")
    return str(answer.get("message", "")) if isinstance(answer, dict) else ""


def new_connection(credentials: Credentials, seconds: float) -> http.client.HTTPConnection:
    """A connection to the API server, which its first request opens; ``seconds`` are for whatever it waits for."""
    url = urlsplit(credentials.server)
    host = url.hostname or ""
    if credentials.tls is None:
        return http.client.HTTPConnection(host, url.port or 80, timeout=seconds)
    return _NamedConnection(host, url.port or 443, seconds, credentials.tls, credentials.server_name or host)


class _NamedConnection(http.client.HTTPSConnection):
    """HTTPS that may expect another name in the certificate than the host's."""

    def __init__(self, host: str, port: int, seconds: float, tls: ssl.SSLContext, expected: str) -> None:
        super().__init__(host, port, timeout=seconds, context=tls)
        self._tls = tls
        self._expected = expected

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)  # and not that of HTTPS, which expects the host's name
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._expected)
