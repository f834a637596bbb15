"""The account of an attacker: its requests, and how the API server answered them."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.cluster.client import Connection, RefusedError, Server

Object = dict[str, Any]

TENANT = "tenant"
"""The namespace in which the tenant may do what the ClusterRole ``edit`` permits."""
UNJUDGED = 429
"""Status of an API server that is too busy to look at a request, as all from 500 on."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is attacked, and the tokens of the attackers. Plain data: they are a process of their own."""

    kubeconfig: Path
    """That of an administrator, who is nobody's attacker but for a kubelet's credentials."""
    tokens: Mapping[str, str]
    """By account: ``tenant``, ``author``, ``config-map-writer``; and the stolen ones, ``scheduler``, ``operator``."""
    scheduler: str
    """The ``schedulerName`` of the scheduler that is attacked."""
    profile: str
    """Berth's profile, which is attacked through its objects in any case."""
    operator_pod: str
    endpoints: Sequence[tuple[str, int]]
    """Addresses at which the programs serve their health and metrics, over TLS."""
    nodes: Sequence[str]
    """Names of nodes."""

    def server(self, account: str) -> Server:
        """The API server, as an account of the attackers."""
        admin = Server.of(self.kubeconfig)
        return Server(admin.host, admin.port, admin.trust, self.tokens[account])

    @property
    def kubelet(self) -> Server:
        """The API server, as somebody who may write the status of a node."""
        return Server.of(self.kubeconfig)


@dataclass(slots=True)
class Outcomes:
    """How many requests of each attack were taken and refused."""

    taken: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    last_refusal: dict[str, str] = field(default_factory=dict)
    breaches: dict[str, str] = field(default_factory=dict)
    """Requests that nobody may do and that were not refused for that reason, each with what happened."""
    broken: list[str] = field(default_factory=list)
    """Attacks that ended by themselves."""

    def lines(self) -> list[str]:
        """A line for people about each attack."""
        return [
            f"  {name}: {self.taken[name]} taken, {self.refused[name]} refused"
            + (f"; the last: {self.last_refusal[name][:300]}" if self.refused[name] else "")
            for name in sorted(self.taken.keys() | self.refused.keys())
        ]


class Attacker:
    """One account's connection, which counts what it sends under the name of an attack."""

    def __init__(self, name: str, connection: Connection, outcomes: Outcomes) -> None:
        self._name = name
        self._connection = connection
        self._outcomes = outcomes

    async def post(self, path: str, body: Object | bytes) -> None:
        """Create an object; a refusal is only counted."""
        await self._send(self._connection.post(path, body if isinstance(body, bytes) else json.dumps(body).encode()))

    async def patch(self, path: str, change: Object | bytes) -> None:
        """Change an object by a merge patch; a refusal is only counted."""
        await self._send(
            self._connection.patch(path, change if isinstance(change, bytes) else json.dumps(change).encode())
        )

    async def delete(self, path: str) -> None:
        """Delete an object or a collection at once; that it is gone already is no matter."""
        with contextlib.suppress(RefusedError):
            await self._connection.delete(path, b'{"gracePeriodSeconds": 0}')

    async def be_refused(self, method: str, path: str, body: Object | bytes, kind: str, reason: str) -> None:
        """Send a request that has to be refused, for that ``reason``; anything else is a breach."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            await self._connection.send(method, path, data, kind)
        except RefusedError as error:
            if reason in str(error):
                self._outcomes.refused[self._name] += 1
                self._outcomes.last_refusal[self._name] = str(error)
            elif error.status < 500 and error.status != UNJUDGED:
                self._outcomes.breaches[f"{method} {path}"] = f"not refused because {reason!r}, but: {error}"
        else:
            self._outcomes.taken[self._name] += 1
            self._outcomes.breaches[f"{method} {path}"] = f"taken, which has to be refused: {reason}"

    async def _send(self, request: Awaitable[bytes]) -> None:
        try:
            await request
            self._outcomes.taken[self._name] += 1
        except RefusedError as error:
            self._outcomes.refused[self._name] += 1
            self._outcomes.last_refusal[self._name] = str(error)


@asynccontextmanager
async def attacker(name: str, server: Server, outcomes: Outcomes) -> AsyncIterator[Attacker]:
    """An attacker with a connection of its own."""
    connection = await Connection.open(server)
    try:
        yield Attacker(name, connection, outcomes)
    finally:
        await connection.close()
