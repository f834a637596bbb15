"""The operator's process beside its reconciles."""

from __future__ import annotations

import asyncio

import pytest

from scheduler_operator.app.endpoints import Readiness
from scheduler_operator.app.process import OperatorProcess
from scheduler_operator.app.settings import parse
from scheduler_operator.cluster.api import RequestError
from scheduler_operator.cluster.user_objects import UserObjects
from scheduler_operator.resources import kinds


class Forbidding:
    """An API server that lets nobody look at Deployments."""

    async def own_lease_by_deployment(self, name: str) -> None:
        raise RequestError(f"GET /apis/apps/v1/deployments/{name}", 403, "Forbidden", "no right to see it")


async def test_a_lease_that_cannot_be_tied_to_the_deployment_is_reported_and_holds_nothing_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = object.__new__(OperatorProcess)
    process.settings = parse(["--scheduler-image", "berth:1", "--name", "own"], {})
    process.cluster = Forbidding()  # type: ignore[assignment]
    await process.own_lease_by_deployment()
    (message,) = caplog.messages
    assert message.startswith("the Lease own will stay when Berth is uninstalled: ")
    assert message.endswith("403 Forbidden: no right to see it")


class Unlistable:
    """It lists around one object each time."""

    def __init__(self, users: UserObjects) -> None:
        self.users = users
        self.lists = 0

    async def list_around(self, kind: kinds.ResourceKind) -> None:
        self.lists += 1
        self.users.unlistable[kind] = ["poison"]
        await asyncio.sleep(0)


class Resyncing:
    def __init__(self) -> None:
        self.resynced = asyncio.Event()

    async def resync(self) -> None:
        self.resynced.set()


async def test_what_cannot_be_read_is_told_until_the_kind_can_be_listed_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process, users, reconciler = object.__new__(OperatorProcess), UserObjects(), Resyncing()
    process.users, process.readiness, process.relisted = users, Readiness(), asyncio.Event()
    process.unlistable, process.list_failed = set(), asyncio.Event()
    cluster = process.cluster = Unlistable(users)  # type: ignore[assignment]
    task = asyncio.create_task(process.list_around(reconciler))  # type: ignore[arg-type]
    for _ in range(100):
        process.note_unlistable(kinds.PLUGIN_CONFIG)
    await reconciler.resynced.wait()
    assert cluster.lists == 1
    assert process.readiness.remark.startswith("the API server cannot read PluginConfig poison, so")

    users.put_page(kinds.PLUGIN_CONFIG, [], is_first=True, is_last=True)
    process.note_list()
    assert process.readiness.remark == ""
    assert process.relisted.is_set()
    assert caplog.messages[0].endswith("remove it from etcd")
    task.cancel()
