"""Writing a status to an API server that is not always willing."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from devcluster.node.api import NodeApi
from devcluster.node.pod.reported_status import ContainerReport, PodReport, Running
from devcluster.node.pod.status_writer import StatusWriter
from tests.devcluster.node.scripted import served

Object = dict[str, Any]

POD: Object = {
    "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "5"},
    "spec": {"containers": []},
    "status": {},
}
REPORT = PodReport(
    address="127.1.2.3",
    containers=[ContainerReport(name="main", image="i", state=Running("2026-11-18T09:00:00Z"), ready=True)],
    mounted=True,
)


def merged(patch: Object) -> Object:
    """``POD``, which has no status yet, as the API server has it after ``patch``."""
    addresses = [podIP for podIP in patch["status"]["podIPs"] if "$patch" not in podIP]
    return {
        **POD,
        "metadata": {**POD["metadata"], "resourceVersion": "6"},
        "status": {**patch["status"], "podIPs": addresses},
    }


def write_once(statuses: list[int], token: Path) -> tuple[list[Object], StatusWriter]:
    """The patches sent by one ``write`` to a server that answers with ``statuses``, and the writer afterwards."""
    remaining, patches = list(statuses), []

    async def answer(request: web.Request) -> web.StreamResponse:
        assert (request.method, request.path) == ("PATCH", "/api/v1/namespaces/shop/pods/web/status")
        patches.append(await request.json())
        status = remaining.pop(0)
        return web.json_response(merged(patches[-1]) if status == 200 else {"message": "no"}, status=status)

    async def write() -> StatusWriter:
        async with served(answer) as server, NodeApi(server, None, token) as api:
            writer = StatusWriter(api, POD, lambda: REPORT)
            await writer.write()
            return writer

    return patches, asyncio.run(write())


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("t")
    return file


@pytest.mark.parametrize(
    ("statuses", "attempts"),
    [
        pytest.param([200], 1, id="taken"),
        pytest.param([500, 429, 200], 3, id="taken-in-the-end"),
        pytest.param([404], 1, id="no-such-pod"),
        pytest.param([422], 1, id="another-pod-of-that-name"),
    ],
)
def test_a_status_is_sent_until_it_is_stored_or_the_pod_is_deleted(
    statuses: list[int], attempts: int, token: Path
) -> None:
    patches, _ = write_once(statuses, token)
    assert len(patches) == attempts
    assert all(patch["metadata"] == {"uid": "u"} for patch in patches)


def test_a_stored_status_is_not_sent_again(token: Path) -> None:
    _, writer = write_once([200], token)
    assert writer.pod["status"]["phase"] == "Running"
    asyncio.run(writer.write())  # there is no server any more


def test_an_older_state_does_not_replace_a_newer_one(token: Path) -> None:
    _, writer = write_once([200], token)
    writer.update(POD)
    assert writer.pod["metadata"]["resourceVersion"] == "6"
