"""A cluster of one node and a Lease, as far as a whole scheduler asks for it; nothing in it changes but the Lease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from scheduler_runtime.kube.leader_election import LeaseError
from tests.support.leases import MemoryLeases
from tests.support.scripted import Answer, listed, refuses, says, watched

NODE = {
    "metadata": {"name": "n", "uid": "u", "resourceVersion": "1"},
    "status": {"allocatable": {"cpu": "4", "pods": "90"}},
}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "resourceVersion": "2"}
    return {"metadata": metadata, "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}], **spec}}


class TinyCluster:
    """Answers for an API server. Bindings are answered as the test says, and no watch shows them."""

    def __init__(self, *pods: dict[str, Any], binding: Answer | None = None) -> None:
        self.leases = MemoryLeases()
        self._binding = binding or says({}, 201)
        self._objects: dict[str, Sequence[Any]] = {"/api/v1/nodes": [NODE], "/api/v1/pods": pods}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "/leases" in request.path:
            return await self._lease(request)
        if request.path.endswith("/binding"):
            return await self._binding(request)
        if request.method != "GET":
            return await says({})(request)
        items = self._objects.get(request.path, [])
        return await (watched() if "watch" in request.query else listed(*items))(request)

    async def _lease(self, request: web.Request) -> web.StreamResponse:
        try:
            match request.method:
                case "GET":
                    lease = self.leases.get(1)
                case "POST":
                    lease = self.leases.create(await request.json(), 1)
                case _:
                    lease = self.leases.update(await request.json(), 1)
        except LeaseError as error:
            return await refuses(error.status)(request)
        return await says(lease)(request)
