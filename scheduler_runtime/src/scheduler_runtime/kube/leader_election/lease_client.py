"""Lease requests over HTTP, on a blocking connection that nothing else uses."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any
from urllib.parse import quote, urlsplit

from scheduler_runtime.kube.blocking_client import new_connection
from scheduler_runtime.kube.credentials import Credentials, CredentialsError
from scheduler_runtime.kube.leader_election.lease_record import Lease, LeaseError, NoLeaseResponseError


class HttpLeaseClient:
    """Reads and writes one Lease. A request that fails closes its connection."""

    def __init__(self, credentials: Credentials, namespace: str, name: str, user_agent: str = "berth") -> None:
        self._credentials = credentials
        root = urlsplit(credentials.server).path
        self._collection = f"{root}/apis/coordination.k8s.io/v1/namespaces/{quote(namespace)}/leases"
        self._object = f"{self._collection}/{quote(name)}"
        self._user_agent = user_agent
        self._idle: http.client.HTTPConnection | None = None

    def get(self, timeout: float) -> Lease:
        """Return the Lease. Raises LeaseError."""
        return self._request("GET", self._object, None, timeout)

    def create(self, lease: Lease, timeout: float) -> Lease:
        """Create the Lease and return it as stored. Raises LeaseError, also when it exists already."""
        return self._request("POST", self._collection, lease, timeout)

    def update(self, lease: Lease, timeout: float) -> Lease:
        """Replace the Lease and return it as stored. Raises LeaseError, also when another version is stored by now."""
        return self._request("PUT", self._object, lease, timeout)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        idle, self._idle = self._idle, None
        if idle:
            idle.close()

    def _request(self, method: str, path: str, body: Lease | None, timeout: float) -> Lease:
        # A request that the elector gave up still runs in its thread. So the connection is taken out while a request
        # uses it, and comes back only if the response was in time: the next request never shares it.
        idle, self._idle = self._idle, None
        connection = idle or new_connection(self._credentials, timeout)
        deadline = time.monotonic() + timeout
        try:
            headers = {"Accept": "application/json", "User-Agent": self._user_agent, **self._credentials.headers()}
            if body is not None:
                headers["Content-Type"] = "application/json"
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(timeout)  # one that was open already has the timeout of the request before
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            status, payload = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise NoLeaseResponseError(f"{method} failed: {str(error) or type(error).__name__}") from error
        except CredentialsError as error:
            connection.close()
            raise LeaseError(str(error)) from error
        if status == http.HTTPStatus.UNAUTHORIZED:
            self._credentials.reject_token()
        if time.monotonic() < deadline:
            self._idle = connection
        else:
            connection.close()
        try:
            lease: Any = json.loads(payload)
        except ValueError:
            lease = None
        if not isinstance(lease, dict):
            raise LeaseError(f"{method} answered {status} with something that is not an object", status)
        if status not in (http.HTTPStatus.OK, http.HTTPStatus.CREATED):
            raise LeaseError(f"{method} answered {status}: {lease.get('message', '')}", status)
        return lease
