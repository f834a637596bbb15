"""upstream: test/integration/scheduler/plugins, what decides where a pod can be."""

from __future__ import annotations

import pytest

from devcluster import Cluster
from tests.integration.upstream.plugins import fakes
from tests.integration.upstream.support import Object, nodes, pod, profile_with, world

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    ("fail", "reject", "only"),
    [
        pytest.param(False, False, (), id="disable-fail-and-reject"),
        pytest.param(True, False, (), id="enable-fail-disable-reject"),
        pytest.param(False, True, (), id="disable-fail-enable-reject"),
        pytest.param(False, False, ("test-node-0", "test-node-1"), id="legal-node-names"),
        pytest.param(False, False, ("test-node-0", "non-existent-node"), id="legal-and-illegal-node-names"),
    ],
)
async def test_pre_filter_plugin(server: Cluster, fail: bool, reject: bool, only: tuple[str, ...]) -> None:
    async with world(server) as there:
        plugin = there.plugin(fakes.PreFilter, fail=fail, reject=reject, only=only)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(plugin):
            await there.create_pod(pod("test-pod"))
            if reject:
                assert "reject pod test-pod" in await there.unschedulable("test-pod")
            elif fail:
                assert "injecting failure for pod test-pod" in await there.failed("test-pod")
            else:
                assert await there.scheduled("test-pod") in (only or {"test-node-0", "test-node-1"})
        assert plugin.calls.log


@pytest.mark.parametrize(
    ("reject", "count", "first", "second", "filtered", "calls"),
    [
        pytest.param(False, 30, {}, {}, 30, 0, id="filter-passed-and-score-success"),
        pytest.param(True, 1, {}, {}, 2, 1, id="filter-failed-and-postfilter-passed"),
        pytest.param(True, 1, {"reject": True}, {}, 2, 2, id="filter-failed-and-postfilter-failed"),
        pytest.param(True, 1, {"reject": True}, {}, 2, 2, id="score-failed-and-postfilter-failed"),
        pytest.param(True, 1, {"end": True}, {}, 2, 1, id="first-postfilter-broken"),
        pytest.param(True, 1, {"reject": True}, {"reject": True, "end": True}, 2, 2, id="second-postfilter-broken"),
    ],
)
async def test_post_filter_plugin(
    server: Cluster,
    reject: bool,
    count: int,
    first: Object,
    second: Object,
    filtered: int,
    calls: int,
) -> None:
    async with world(server) as there:
        deciding = there.plugin(fakes.Filter, reject=reject), there.plugin(fakes.Score, fail=reject)
        post_filters = (
            there.plugin(fakes.PostFilter, **first),
            there.plugin(fakes.PostFilter, "postfilter-plugin2", **second),
        )
        profile = profile_with(*deciding, *post_filters)
        for point in ("preScore", "score", "postFilter"):
            profile["plugins"].setdefault(point, {})["disabled"] = [{"name": "*"}]
        await there.create_nodes(*nodes(count))
        async with there.scheduling(*deciding, *post_filters, profiles=[profile], podInitialBackoffSeconds=10):
            await there.create_pod(pod("test-pod"))
            if reject:
                await there.unschedulable("test-pod")
            else:
                await there.scheduled("test-pod")
        nodes_by_plugin = [plugin.calls.rows for plugin in deciding]
        assert nodes_by_plugin == ([max(filtered, nodes_by_plugin[0]), 0] if reject else [filtered, count])
        assert sum(len(plugin.calls) for plugin in post_filters) == calls


@pytest.mark.parametrize("fail", [pytest.param(True, id="fail"), pytest.param(False, id="do-not-fail")])
async def test_filter_plugin(server: Cluster, fail: bool) -> None:
    async with world(server) as there:
        plugin = there.plugin(fakes.Filter, fail=fail)
        await there.create_nodes(*nodes(1))
        async with there.scheduling(plugin, podInitialBackoffSeconds=10):
            await there.create_pod(pod("test-pod"))
            if fail:
                assert "plugin filter-plugin failed in filter" in await there.failed("test-pod")
            else:
                await there.scheduled("test-pod")
        assert plugin.calls.rows == 1
