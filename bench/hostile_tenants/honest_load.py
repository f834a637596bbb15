"""The honest load: pods at a steady rate for one scheduler, and how long each waits for its node."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from bench.cluster.client import Connection, RefusedError, Server

CREATORS = 6
"""Connections on which pods are created: a slow answer to one must not delay the next."""
GRACE_SECONDS = 30.0
"""How long the last pods may wait for a node, after the last one was created."""
AT_ONCE = json.dumps({"gracePeriodSeconds": 0}).encode()


class _Metadata(msgspec.Struct):
    name: str = ""


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _Event(msgspec.Struct):
    type: str
    object: _Pod


_decode = msgspec.json.Decoder(_Event).decode


@dataclass(frozen=True, slots=True)
class Waits:
    """The seconds from the request that creates a pod until a watch shows its node, for the pods of one phase."""

    seconds: list[float]
    unbound: int
    """Pods that got no node at all."""
    answers: list[float] = field(default_factory=list)
    """The part of each wait until the API server answered that request: no scheduler can shorten it."""

    def percentile(self, percent: float) -> float:
        """The wait that ``percent`` of the pods do not exceed; pods without a node wait for ever."""
        return percentile(self.seconds + [math.inf] * self.unbound, percent)


def percentile(seconds: Sequence[float], percent: float) -> float:
    """The least of ``seconds`` that ``percent`` of them do not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else math.inf


@dataclass(slots=True)
class HonestLoad:
    """Pods of one namespace for one scheduler. A pod is deleted when it has got its node."""

    server: Server
    namespace: str
    scheduler: str
    _created: dict[str, float] = field(default_factory=dict)
    _waits: list[float] = field(default_factory=list)
    _answers: list[float] = field(default_factory=list)
    _bound: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    _all_bound: asyncio.Event = field(default_factory=asyncio.Event)
    _number: int = 0

    async def run(self, per_second: float, seconds: float) -> Waits:
        """Create pods for so long; return how long they waited."""
        self._created, self._waits, self._answers = {}, [], []
        due: asyncio.Queue[str | None] = asyncio.Queue()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch())
            deleting = group.create_task(self._delete_bound())
            creators = [group.create_task(self._create(due)) for _ in range(CREATORS)]
            began = time.monotonic()
            for number in range(int(per_second * seconds)):
                await asyncio.sleep(began + number / per_second - time.monotonic())
                self._number += 1
                due.put_nowait(f"{self.scheduler}-{self._number}")
            for _ in creators:
                due.put_nowait(None)
            await asyncio.wait(creators)
            self._note_end()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self._all_bound.wait()
            watching.cancel()
            deleting.cancel()
        return Waits(self._waits, len(self._created), self._answers)

    async def _create(self, due: asyncio.Queue[str | None]) -> None:
        connection = await Connection.open(self.server)
        spec = {
            "schedulerName": self.scheduler,
            "nodeSelector": {"type": "kwok"},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "10m"}}}],
        }
        while name := await due.get():
            pod = {"metadata": {"name": name, "labels": {"app": "honest"}}, "spec": spec}
            began = self._created[name] = time.monotonic()
            await connection.post(f"/api/v1/namespaces/{self.namespace}/pods", json.dumps(pod).encode())
            self._answers.append(time.monotonic() - began)
        await connection.close()

    async def _watch(self) -> None:
        """Note when each pod got its node. A watch that the API server ends begins anew with all pods."""
        path = f"/api/v1/namespaces/{self.namespace}/pods?watch=true"
        while True:
            connection = await Connection.open(self.server)
            rest = b""
            with contextlib.suppress(EOFError):
                async for chunk in connection.stream(path, "application/json"):
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        self._note(_decode(line))
            await connection.close()

    def _note(self, event: _Event) -> None:
        pod = event.object
        if pod.spec.node_name and (created := self._created.pop(pod.metadata.name, None)) is not None:
            self._waits.append(time.monotonic() - created)
            self._bound.put_nowait(pod.metadata.name)
            self._note_end()

    def _note_end(self) -> None:
        """Set or clear the event for that every pod so far has a node."""
        if self._created:
            self._all_bound.clear()
        else:
            self._all_bound.set()

    async def _delete_bound(self) -> None:
        connection = await Connection.open(self.server)
        while True:
            name = await self._bound.get()
            with contextlib.suppress(RefusedError):  # it may be gone: a node's agent deletes pods as well
                await connection.delete(f"/api/v1/namespaces/{self.namespace}/pods/{name}", AT_ONCE)
