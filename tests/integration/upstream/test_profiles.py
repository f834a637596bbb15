"""Profiles with plugins of their own, against a real API server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pydantic import Field

from devcluster import Cluster
from scheduler_runtime.api import PluginArgs, Reject, Watch
from tests.integration.upstream.support import CasePlugin, Object, node, pod, profile_with, world

pytestmark = pytest.mark.cluster


class Quota(CasePlugin):
    """Lets a pod on a node while that has few pods."""

    name = "Quota"

    class Args(PluginArgs):
        max_pods: int = Field(default=0, ge=0)

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterable[Reject]:
        yield Reject(nodes.pod_counts >= self.args.max_pods, f"node has {self.args.max_pods} pods already")


def with_quota(scheduler_name: str, most: int, plugin: type[CasePlugin]) -> Object:
    config = [{"name": "Quota", "args": {"maxPods": most}}]
    return profile_with(plugin, schedulerName=scheduler_name, pluginConfig=config)


async def test_profiles_have_plugins_and_arguments_of_their_own_and_count_the_same_pods(server: Cluster) -> None:
    async with world(server) as there:
        quota = there.plugin(Quota)
        profiles = [with_quota("one", 1, quota), with_quota("two", 2, quota), {"schedulerName": "any"}]
        await there.create_nodes(node("node"))
        async with there.scheduling(quota, profiles=profiles):
            await there.create_pod(pod("first", schedulerName="one"))
            await there.scheduled("first")
            await there.create_pod(pod("second", schedulerName="one"))
            assert "1 node has 1 pods already" in await there.unschedulable("second")
            await there.create_pod(pod("third", schedulerName="two"))
            await there.scheduled("third")
            await there.create_pod(pod("fourth", schedulerName="two"))
            assert "1 node has 2 pods already" in await there.unschedulable("fourth")
            await there.create_pod(pod("fifth", schedulerName="any"))
            await there.scheduled("fifth")


class Prices(CasePlugin):
    """Keeps pods off nodes that a config map has no price for."""

    name = "Prices"
    row_local = True
    watches = (Watch("v1", "ConfigMap", name="node-prices"),)

    def pre_filter(self, pod: Any, nodes: Any, cycle: Any) -> Any:
        config_map = self.handle.get(self.watches[0])
        prices = config_map.data if config_map else {}
        return nodes.label("size").map(dict.fromkeys(prices, True), missing=False).astype(bool)

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterable[Reject]:
        yield Reject(~state, "node has no known price")

    def signature(self, pod: Any) -> tuple[()]:
        return ()


async def test_what_a_plugin_keeps_of_its_verdicts_follows_what_it_watches(server: Cluster) -> None:
    async with world(server) as there:
        prices = there.plugin(Prices)
        where = f"/api/v1/namespaces/{there.namespace}/configmaps"
        await there.create_nodes(node("node", {"size": "large"}))
        async with there.scheduling(prices) as process:
            await there.create_pod(pod("early"))
            assert "1 node has no known price" in await there.unschedulable("early")
            await there.create(where, {"metadata": {"name": "node-prices"}, "data": {"large": "2"}})
            await there.until(lambda: process.objects.get(Prices.watches[0]))
            await there.create_pod(pod("late"))
            await there.scheduled("late")
