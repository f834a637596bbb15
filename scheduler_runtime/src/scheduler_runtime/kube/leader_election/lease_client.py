"""The Lease over HTTP, on a blocking connection that nothing else uses."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

from scheduler_runtime.kube import credentials as credentials_of
from scheduler_runtime.kube.blocking_client import connection_to
from scheduler_runtime.kube.credentials import Credentials, CredentialsError
from scheduler_runtime.kube.leader_election.elector import LeaderElector, Lease
from scheduler_runtime.kube.leader_election.lease_record import LeaseError, LeaseSettings, NoLeaseResponseError


class HttpLeaseClient:
    """Reads and writes one Lease. An exchange that does not end well ends its connection too."""

    def __init__(self, credentials: Credentials, namespace: str, name: str, user_agent: str = "berth") -> None:
        self._credentials = credentials
        root = urlsplit(credentials.server).path
        self._collection = f"{root}/apis/coordination.k8s.io/v1/namespaces/{quote(namespace)}/leases"
        self._object = f"{self._collection}/{quote(name)}"
        self._user_agent = user_agent
        self._idle: http.client.HTTPConnection | None = None

    def get(self, timeout: float) -> Lease:
        return self._exchange("GET", self._object, None, timeout)

    def create(self, lease: Lease, timeout: float) -> Lease:
        return self._exchange("POST", self._collection, lease, timeout)

    def update(self, lease: Lease, timeout: float) -> Lease:
        return self._exchange("PUT", self._object, lease, timeout)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        idle, self._idle = self._idle, None
        if idle:
            idle.close()

    def _exchange(self, method: str, path: str, body: Lease | None, timeout: float) -> Lease:
        idle, self._idle = self._idle, None  # a request left behind keeps its connection to itself
        connection = idle or connection_to(self._credentials, timeout)
        give_up_at = time.monotonic() + timeout
        try:
            status, payload = self._send(connection, method, path, body, timeout)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise NoLeaseResponseError(f"{method} failed: {str(error) or type(error).__name__}") from error
        except CredentialsError as error:
            connection.close()
            raise LeaseError(str(error)) from error
        if status == http.HTTPStatus.UNAUTHORIZED:
            self._credentials.reject_token()
        if time.monotonic() < give_up_at:
            self._idle = connection
        else:
            connection.close()
        return _lease(method, status, payload)

    def _send(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Lease | None, timeout: float
    ) -> tuple[int, bytes]:
        headers = {"Accept": "application/json", "User-Agent": self._user_agent, **self._credentials.headers()}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if connection.sock is None:
            connection.connect()
        connection.sock.settimeout(timeout)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read()


def create_elector(
    settings: LeaseSettings,
    *,
    kubeconfig: str = "",
    user_agent: str = "berth",
    clock: Callable[[], float] = time.monotonic,
    on_started: Callable[[], None],
    on_stopped: Callable[[], None],
    on_new_leader: Callable[[str], None] | None = None,
) -> LeaderElector:
    """Make an elector that reads its credentials where every process of Berth does.

    Raises CredentialsError.
    """
    credentials = credentials_of.load(kubeconfig)
    leases = HttpLeaseClient(credentials, settings.namespace, settings.name, user_agent)

    def stopped() -> None:
        leases.close()
        on_stopped()

    return LeaderElector(
        settings, leases, clock=clock, on_started=on_started, on_stopped=stopped, on_new_leader=on_new_leader
    )


def _lease(method: str, status: int, payload: bytes) -> Lease:
    """Read an answer; a refusal is told in the API server's own words."""
    try:
        answer: Any = json.loads(payload)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise LeaseError(f"{method} answered {status} with something that is not an object", status)
    if status not in (http.HTTPStatus.OK, http.HTTPStatus.CREATED):
        raise LeaseError(f"{method} answered {status}: {answer.get('message', '')}", status)
    return answer
