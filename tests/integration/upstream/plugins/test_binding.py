"""upstream: test/integration/scheduler/plugins, what binds a pod, before and after."""

from __future__ import annotations

from typing import Literal

import pytest

from devcluster import Cluster
from tests.integration.upstream.plugins import fakes
from tests.integration.upstream.support import Object, Outcome, World, nodes, pod, profile_with, world

pytestmark = pytest.mark.cluster

SECOND = "2nd-scheduler"


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        pytest.param({}, World.scheduled, id="disable-fail-and-reject"),
        pytest.param({"fail": True}, World.failed, id="enable-fail-disable-reject"),
        pytest.param({"reject": True}, World.unschedulable, id="disable-fail-enable-reject"),
        pytest.param({"fail": True, "reject": True}, World.failed, id="enable-fail-and-reject"),
        pytest.param({"fail": True, "succeeds_on_retry": True}, World.scheduled, id="fail-once-succeed-on-retry"),
        pytest.param({"fail": True}, World.failed, id="failure-moves-unschedulable-pods"),
    ],
)
async def test_prebind_plugin(
    server: Cluster, settings: Object, outcome: Outcome, request: pytest.FixtureRequest
) -> None:
    async with world(server) as there:
        moves = "moves" in request.node.name
        pre_bind, filters = there.plugin(fakes.PreBind, **settings), there.plugin(fakes.Filter, reject=True)
        profiles = [profile_with(pre_bind), profile_with(filters, schedulerName=SECOND)]
        await there.create_nodes(*nodes(2))
        async with there.scheduling(pre_bind, filters, profiles=profiles):
            if moves:
                await there.create_pod(pod("unschedulable-pod", schedulerName=SECOND))
                await there.unschedulable("unschedulable-pod")
            await there.create_pod(pod("test-pod"))
            await outcome(there, "test-pod")
            assert pre_bind.calls.log
            if moves:
                await there.until(lambda: len(filters.calls) >= 2)


BINDERS = ("bind-plugin-1", "bind-plugin-2", "DefaultBinder")


@pytest.mark.parametrize(
    ("enabled", "answers", "bound_by", "log"),
    [
        pytest.param(BINDERS, ("skips", "skips"), "", [*BINDERS[:2], "post-bind"], id="skipped-scheduler-binds"),
        pytest.param(BINDERS, ("skips", "binds"), BINDERS[1], [*BINDERS[:2], "post-bind"], id="plugin2-binds"),
        pytest.param(BINDERS, ("binds", "binds"), BINDERS[0], [BINDERS[0], "post-bind"], id="plugin1-binds"),
        pytest.param(BINDERS, ("fails", "binds"), None, [BINDERS[0], "reserve"], id="plugin-fails-to-bind"),
        pytest.param(BINDERS[:2], ("skips", "skips"), None, [*BINDERS[:2], "reserve"], id="all-skipped"),
    ],
)
async def test_bind_plugin(
    server: Cluster,
    enabled: tuple[str, ...],
    answers: tuple[Literal["binds", "skips", "fails"], ...],
    bound_by: str | None,
    log: list[str],
) -> None:
    async with world(server) as there:
        binders = [
            there.plugin(fakes.Bind, name, answers=answer) for name, answer in zip(BINDERS, answers, strict=False)
        ]
        others = there.plugin(fakes.Reserve, "reserve"), there.plugin(fakes.PostBind, "post-bind")
        profile = profile_with(*others)
        default = [{"name": "DefaultBinder"}]
        profile["plugins"]["bind"] = {"enabled": [{"name": name} for name in enabled], "disabled": default}
        await there.create_nodes(*nodes(2))
        async with there.scheduling(*binders, *others, profiles=[profile], podInitialBackoffSeconds=10):
            await there.create_pod(pod("test-pod"))
            await (there.failed("test-pod") if bound_by is None else there.scheduled("test-pod"))
            await there.until(lambda: len(there.log) >= len(log))
        assert there.log == log
        annotations = (there.pod("test-pod") or {})["metadata"].get("annotations", {})
        assert annotations.get("bindPluginName", "") == (bound_by or "")


@pytest.mark.parametrize(
    "fail", [pytest.param(True, id="plugin-prebind-fail"), pytest.param(False, id="plugin-prebind-do-not-fail")]
)
async def test_post_bind_plugin(server: Cluster, fail: bool) -> None:
    async with world(server) as there:
        pre_bind, post_bind = there.plugin(fakes.PreBind, fail=fail), there.plugin(fakes.PostBind)
        await there.create_nodes(*nodes(2))
        async with there.scheduling(pre_bind, post_bind):
            await there.create_pod(pod("test-pod"))
            if fail:
                assert 'running PreBind plugin "prebind-plugin"' in await there.failed("test-pod")
                assert not post_bind.calls.log
            else:
                await there.scheduled("test-pod")
                await there.until(lambda: post_bind.calls.log)
