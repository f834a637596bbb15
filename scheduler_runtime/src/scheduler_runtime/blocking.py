"""Requests to the API server from a thread of one's own, one after the other, each on a connection of its own."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

from scheduler_runtime.credentials import Credentials, CredentialsError

SECONDS = 10.0


class RefusedError(Exception):
    """The API server did not do what was asked, or was not reached; the message says why."""


def ask(
    credentials: Credentials,
    method: str,
    path: str,
    body: object = None,
    *,
    user_agent: str,
    params: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> bytes:
    """Send one request and return the body of its answer. Raises RefusedError."""
    url = urlsplit(credentials.server)
    target = url.path + path + (f"?{urlencode(params)}" if params else "")
    connection = _connection(credentials, url.hostname or "", url.port, seconds)
    try:
        headers = {"Accept": "application/json", "User-Agent": user_agent, **credentials.headers()}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        payload = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise RefusedError(f"{method} {path}: {str(error) or type(error).__name__}") from error
    except CredentialsError as error:
        raise RefusedError(str(error)) from error
    finally:
        connection.close()
    if answer.status == http.HTTPStatus.UNAUTHORIZED:
        credentials.refused()
    if answer.status >= http.HTTPStatus.BAD_REQUEST:
        raise RefusedError(f"{method} {path}: {answer.status}: {_message(payload)}")
    return payload


def _message(payload: bytes) -> str:
    """What the API server says about a refusal."""
    try:
        answer = json.loads(payload)
    except ValueError:
        return payload[:200].decode(errors="replace")
    return str(answer.get("message", "")) if isinstance(answer, dict) else ""


def _connection(credentials: Credentials, host: str, port: int | None, seconds: float) -> http.client.HTTPConnection:
    if credentials.tls is None:
        return http.client.HTTPConnection(host, port or 80, timeout=seconds)
    return _NamedConnection(host, port or 443, seconds, credentials.tls, credentials.server_name or host)


class _NamedConnection(http.client.HTTPSConnection):
    """HTTPS that may expect another name in the certificate than the host's."""

    def __init__(self, host: str, port: int, seconds: float, tls: ssl.SSLContext, expected: str) -> None:
        super().__init__(host, port, timeout=seconds, context=tls)
        self._tls = tls
        self._expected = expected

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self.timeout)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self._expected)
