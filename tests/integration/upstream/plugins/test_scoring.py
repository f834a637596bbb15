"""upstream: test/integration/scheduler/plugins, what decides where a pod is best."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.plugins import fakes
from tests.integration.upstream.support import nodes, pod, world

pytestmark = pytest.mark.cluster

FAIL_OR_NOT = [pytest.param(True, id="fail"), pytest.param(False, id="do-not-fail")]


@pytest.mark.parametrize("fail", FAIL_OR_NOT)
async def test_score_plugin(server: Cluster, fail: bool) -> None:
    async with world(server) as there:
        plugin = there.plugin(fakes.Score, fail=fail)
        await there.create_nodes(*nodes(10))
        async with there.scheduling(plugin):
            await there.create_pod(pod("test-pod"))
            if fail:
                assert "plugin score-plugin failed in score" in await there.failed("test-pod")
            else:
                assert [await there.scheduled("test-pod")] == there.log
        assert plugin.calls.rows


async def test_normalize_score_plugin(server: Cluster) -> None:
    async with world(server) as there:
        plugin = there.plugin(fakes.ScoreWithNormalize)
        await there.create_nodes(*nodes(10))
        async with there.scheduling(plugin):
            await there.create_pod(pod("test-pod"))
            await there.scheduled("test-pod")
        assert plugin.calls.log == ["score", "normalize"]


@pytest.mark.parametrize("fail", FAIL_OR_NOT)
async def test_pre_score_plugin(server: Cluster, fail: bool) -> None:
    async with world(server) as there:
        plugin = there.plugin(fakes.PreScore, fail=fail)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(plugin):
            await there.create_pod(pod("test-pod"))
            if fail:
                assert "plugin prescore-plugin failed in pre_score" in await there.failed("test-pod")
            else:
                await there.scheduled("test-pod")
        assert plugin.calls.log
