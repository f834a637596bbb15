"""The pods of a node beside one that the node cannot take in."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from devcluster.node.agent import PodLives
from devcluster.node.api import NodeApi
from devcluster.node.config import Config
from devcluster.node.objects import Objects
from devcluster.node.pod.life import Host
from devcluster.node.processes import Processes
from tests.devcluster.node.scripted import served

Object = dict[str, Any]


def pod(name: str, version: int = 1, **status: Any) -> Object:
    """A pod that has nothing to run, so its status is all that the node does about it."""
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {"containers": []}, "status": status}


ODD = {**pod("odd"), "spec": {"containers": [{"image": "without a name"}]}}


async def reported(listed: list[Object], changed: list[Object], expected: int, directory: Path) -> list[str]:
    """The pods of which the node reports a status, until there are as many as ``expected``."""
    names: list[str] = []
    enough = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method == "PATCH":
            name = request.path.split("/")[-2]
            if name not in names:
                names.append(name)
            if len(names) == expected:
                enough.set()
            return web.json_response(pod(name, 9, **(await request.json())["status"]))
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": listed})
        response = web.StreamResponse()
        await response.prepare(request)
        for item in changed:
            await response.write(json.dumps({"type": "MODIFIED", "object": item}).encode() + b"\n")
        await enough.wait()
        return response

    token = directory / "token"
    token.write_text("t")
    async with served(answer) as server, NodeApi(server, None, token) as api:
        config = Config(server=server, ca_file=token, token_file=token, node_name="n", directory=directory)
        host = Host(config=config, api=api, objects=Objects(api), processes=Processes(sole_parent=False))

        async def follow() -> None:
            async with asyncio.TaskGroup() as group:
                await PodLives(host, group).follow()

        following = asyncio.create_task(follow())
        async with asyncio.timeout(20):
            await enough.wait()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    return names


@pytest.mark.parametrize(
    ("listed", "changed"),
    [
        pytest.param([ODD, pod("a")], [pod("b", 2)], id="in-the-list"),
        pytest.param([pod("a")], [ODD, pod("b", 2)], id="in-the-watch"),
    ],
)
def test_a_pod_that_cannot_be_taken_in_is_set_aside_by_itself(
    listed: list[Object], changed: list[Object], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert asyncio.run(reported(listed, changed, 2, tmp_path)) == ["a", "b"]
    assert [record.getMessage() for record in caplog.records] == ["the pod odd is set aside until its object changes"]


def test_a_pod_that_was_set_aside_runs_when_it_can_be_taken_in(tmp_path: Path) -> None:
    assert asyncio.run(reported([ODD], [pod("odd", 2)], 1, tmp_path)) == ["odd"]
