"""upstream: test/integration/scheduler/plugins, what is taken for a pod and given back."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.plugins import fakes
from tests.integration.upstream.support import CasePlugin, Object, nodes, pod, world

pytestmark = pytest.mark.cluster

PATIENT: Object = {"podInitialBackoffSeconds": 10}
"""So that no second attempt is counted."""


@pytest.mark.parametrize("fail", [pytest.param(True, id="fail"), pytest.param(False, id="do-not-fail")])
async def test_reserve_plugin_reserve(server: Cluster, fail: bool) -> None:
    async with world(server) as there:
        plugin = there.plugin(fakes.Reserve, fail=fail)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(plugin, **PATIENT):
            await there.create_pod(pod("test-pod"))
            if fail:
                assert "plugin reserve-plugin failed in reserve" in await there.failed("test-pod")
            else:
                await there.scheduled("test-pod")
        assert "reserve" in plugin.calls.log


@pytest.mark.parametrize(
    ("failing", "called"),
    [
        pytest.param([True, False, True], 1, id="the-first-fails"),
        pytest.param([False, True, False], 2, id="the-middle-one-fails"),
        pytest.param([False, False, True], 3, id="the-last-fails"),
        pytest.param([False, False, False], 3, id="they-succeed"),
    ],
)
async def test_un_reserve_reserve_plugins(server: Cluster, failing: list[bool], called: int) -> None:
    async with world(server) as there:
        plugins = [there.plugin(fakes.Reserve, f"reserve-{number}", fail=fail) for number, fail in enumerate(failing)]
        await there.create_nodes(*nodes(2))
        async with there.scheduling(*plugins, **PATIENT):
            await there.create_pod(pod("test-pod"))
            if any(failing):
                await there.failed("test-pod")
            else:
                await there.scheduled("test-pod")
        assert [plugin.calls.log.count("reserve") for plugin in plugins] == [1] * called + [0] * (3 - called)
        assert there.log == (["reserve-2", "reserve-1", "reserve-0"] if any(failing) else [])


@pytest.mark.parametrize(
    ("settings", "reject"),
    [
        pytest.param({"reject": True}, True, id="a-permit-plugin-rejected"),
        pytest.param({"seconds": 0.2}, True, id="a-permit-plugin-timed-out"),
        pytest.param({}, False, id="the-permit-plugin-succeeded"),
    ],
)
async def test_un_reserve_permit_plugins(server: Cluster, settings: Object, reject: bool) -> None:
    async with world(server) as there:
        permit, reserve = there.plugin(fakes.Permit, **settings), there.plugin(fakes.Reserve)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(permit, reserve, **PATIENT):
            await there.create_pod(pod("test-pod"))
            if reject:
                await there.unschedulable("test-pod")
            else:
                await there.scheduled("test-pod")
        assert reserve.calls.log.count("unreserve") == int(reject)
        assert len(permit.calls) == 1


@pytest.mark.parametrize(
    "reject", [pytest.param(True, id="a-prebind-plugin-failed"), pytest.param(False, id="the-prebind-plugin-succeeded")]
)
async def test_un_reserve_pre_bind_plugins(server: Cluster, reject: bool) -> None:
    async with world(server) as there:
        pre_bind, reserve = there.plugin(fakes.PreBind, reject=reject), there.plugin(fakes.Reserve)
        gate = there.plugin(fakes.Gate, after=pre_bind)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(gate, pre_bind, reserve):
            await there.create_pod(pod("test-pod"))
            if reject:
                assert "reject pod test-pod" in await there.unschedulable("test-pod")
            else:
                await there.scheduled("test-pod")
        assert reserve.calls.log.count("unreserve") == int(reject)
        assert len(pre_bind.calls) == 1


@pytest.mark.parametrize(
    "name", [pytest.param("SucceedBindPlugin", id="succeed"), pytest.param("FailedBindPlugin", id="failed-by-its-name")]
)
async def test_un_reserve_bind_plugins(server: Cluster, name: str) -> None:
    """The plugins of both rows bind, upstream too."""
    async with world(server) as there:
        bind: type[CasePlugin] = there.plugin(fakes.Bind, name)
        reserve = there.plugin(fakes.Reserve)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(bind, reserve):
            await there.create_pod(pod("test-pod"))
            await there.scheduled("test-pod")
        assert reserve.calls.log.count("unreserve") == 0
        assert len(bind.calls) == 1
