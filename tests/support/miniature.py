"""An API server in miniature: pods and nodes, everything that happened to them, and requests that a test answers.

It is asked as a ``Client`` asks, by reflectors and for bindings. What a watch shows of what happened, and in which
order, and what becomes of a binding, is up to the test.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime.kube.client import ApiError, NoResponseError

Object = dict[str, Any]
Lines = list[bytes]
PODS, NODES = "/api/v1/pods", "/api/v1/nodes"


@dataclass(frozen=True)
class Happened:
    """A line of a watch."""

    version: int
    path: str
    line: bytes


@dataclass
class Binding:
    """A binding that was sent and is not answered yet."""

    name: str
    uid: str
    node: str
    answer: asyncio.Future[bytes]


@dataclass
class WholeAnswer:
    """An answer that is read as it comes, all at once."""

    text: bytes
    fell_silent = False

    async def read(self, enough: int = 1) -> bytes:
        text, self.text = self.text, b""
        return text


@dataclass
class Miniature:
    """The API server. A watch shows what ``show`` makes of what happened since it is to resume."""

    objects: dict[str, dict[str, Object]] = field(default_factory=lambda: {PODS: {}, NODES: {}})
    happened: list[Happened] = field(default_factory=list)
    listed_at: dict[str, int] = field(default_factory=lambda: {PODS: 0, NODES: 0})
    sent: list[Binding] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)
    """The uids of pods that had a node at some time."""
    bound_by_us: set[str] = field(default_factory=set)
    show: Callable[[list[Happened], int], list[Happened]] = lambda happened, _: happened
    created: int = 0
    server = "http://miniature"

    # What happens.

    @property
    def pods(self) -> dict[str, Object]:
        return self.objects[PODS]

    def latest(self, path: str) -> int:
        """The version of the last thing that happened to objects of a kind."""
        return max((event.version for event in self.happened_to(path)), default=0)

    def happened_to(self, path: str) -> list[Happened]:
        return [event for event in self.happened if event.path == path]

    def create(self, path: str, name: str, **fields: Any) -> None:
        self.created += 1
        self._write("ADDED", path, {"metadata": {"name": name, "uid": f"{name}-{self.created}"}, **fields})

    def change(self, path: str, name: str, part: str, **fields: Any) -> None:
        old = self.objects[path][name]
        self._write("MODIFIED", path, {**old, part: {**old.get(part, {}), **fields}})

    def delete(self, path: str, name: str) -> None:
        self._write("DELETED", path, self.objects[path][name])

    def bind(self, name: str, uid: str, node: str) -> int:
        """Bind a pod as the API server does; the status of its answer."""
        pod = self.pods.get(name)
        if pod is None:
            return 404
        metadata = pod["metadata"]
        if metadata["uid"] != uid or pod["spec"].get("nodeName") or metadata.get("deletionTimestamp"):
            return 409
        self.change(PODS, name, "spec", nodeName=node)
        self.bound.add(uid)
        return 201

    def _write(self, kind: str, path: str, item: Object) -> None:
        version = len(self.happened) + 1
        stored = {**item, "metadata": {**item["metadata"], "resourceVersion": str(version)}}
        if kind == "DELETED":
            del self.objects[path][item["metadata"]["name"]]
        else:
            self.objects[path][item["metadata"]["name"]] = stored
        line = json.dumps({"type": kind, "object": stored}).encode() + b"\n"
        self.happened.append(Happened(version, path, line))

    # What is asked.

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str], silence_seconds: float
    ) -> AsyncIterator[WholeAnswer]:
        if "watch" in params:
            since = int(params["resourceVersion"])
            events = self.show(self.happened_to(path), since)
            yield WholeAnswer(b"".join(event.line for event in events))
        else:
            self.listed_at[path] = len(self.happened)
            yield WholeAnswer(self._list(list(self.objects[path].values())))

    async def get(self, path: str, params: Mapping[str, str], accept: str) -> bytes:
        return self._list([])

    def _list(self, items: list[Object]) -> bytes:
        return json.dumps({"metadata": {"resourceVersion": str(len(self.happened))}, "items": items}).encode()

    async def request(self, method: str, path: str, *, body: Any = None, **_: Any) -> bytes:
        name = path.removesuffix("/binding").rpartition("/")[2]
        if method == "GET":
            if name not in self.pods:
                raise ApiError(404, "NotFound", name)
            return json.dumps(self.pods[name]).encode()
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.sent.append(Binding(name, body["metadata"]["uid"], body["target"]["name"], answer))
        return await answer

    def answer(self, binding: Binding, *, arrives: bool, is_answered: bool) -> None:
        """Carry a binding out if it ``arrives``, and let who sent it know what became of it, or not."""
        self.sent.remove(binding)
        status = self.bind(binding.name, binding.uid, binding.node) if arrives else 500
        if status == 201:
            self.bound_by_us.add(binding.uid)
        if binding.answer.done():
            return
        if not is_answered:
            binding.answer.set_exception(NoResponseError("no answer", sent=True))
        elif status == 201:
            binding.answer.set_result(b"{}")
        else:
            binding.answer.set_exception(ApiError(status, "", "refused"))
