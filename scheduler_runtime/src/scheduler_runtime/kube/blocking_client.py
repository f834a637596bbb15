"""Blocking client of the API server, for threads: one request at a time, each on a connection of its own."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

from scheduler_runtime.kube.credentials import Credentials, CredentialsError

SECONDS = 10.0


class RequestFailedError(Exception):
    """The API server refused a request, or was not reached; the message has the reason."""


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
    """Send one request and return the body of the response. Raises RequestFailedError.

    ``seconds`` are the timeout of each operation on the socket, not of all together.
    """
    target = urlsplit(credentials.server).path + path + (f"?{urlencode(params)}" if params else "")
    connection = new_connection(credentials, seconds)
    try:
        headers = {"Accept": "application/json", "User-Agent": user_agent, **credentials.headers()}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        payload = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise RequestFailedError(f"{method} {path}: {str(error) or type(error).__name__}") from error
    except CredentialsError as error:
        raise RequestFailedError(str(error)) from error
    finally:
        connection.close()
    if response.status == http.HTTPStatus.UNAUTHORIZED:
        credentials.reject_token()
    if response.status >= http.HTTPStatus.BAD_REQUEST:
        try:
            status = json.loads(payload)
            message = str(status.get("message", "")) if isinstance(status, dict) else ""
        except (ValueError, RecursionError):
            message = payload[:200].decode(errors="replace")
        raise RequestFailedError(f"{method} {path}: {response.status}: {message}")
    return payload


def new_connection(credentials: Credentials, seconds: float) -> http.client.HTTPConnection:
    """Return a connection to the API server, which its first request opens; ``seconds`` are its timeout."""
    url = urlsplit(credentials.server)
    host = url.hostname or ""
    if credentials.tls is None:
        return http.client.HTTPConnection(host, url.port or 80, timeout=seconds)
    return _ServerNameConnection(host, url.port or 443, seconds, credentials.tls, credentials.server_name or host)


class _ServerNameConnection(http.client.HTTPSConnection):
    """HTTPS connection that expects ``server_name`` in the certificate, which may differ from the host.

    A kubeconfig has ``tls-server-name`` for that; http.client has nothing.
    """

    def __init__(self, host: str, port: int, seconds: float, tls: ssl.SSLContext, server_name: str) -> None:
        super().__init__(host, port, timeout=seconds, context=tls)
        self._tls = tls
        self._server_name = server_name

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)  # not HTTPSConnection's, which expects the name of the host
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)
