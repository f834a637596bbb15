"""upstream: test/integration/scheduler/scheduler_test.go, whose pod is whose."""

from __future__ import annotations

import asyncio

import pytest

from devcluster import Cluster
from scheduler_runtime.api import Watch
from scheduler_runtime.scheduling.watched_objects import WatchedObjects
from tests.integration.upstream.support import World, node, pod, world

pytestmark = pytest.mark.cluster

CUSTOM, FOO = "custom-scheduler", "foo-scheduler"


async def test_multiple_schedulers(server: Cluster) -> None:
    async with world(server) as there:
        await there.create_nodes(node("node-multi-scheduler-test-node"))
        async with there.scheduling():
            await there.create_pods(
                pod("pod-fits-foo", schedulerName=FOO),
                pod("pod-without-scheduler-name"),
                pod("pod-fits-default", schedulerName="default-scheduler"),
            )
            await there.scheduled("pod-without-scheduler-name")
            await there.scheduled("pod-fits-default")
            assert (there.node_of("pod-fits-foo"), there.reason("pod-fits-foo")) == ("", "")
            async with there.scheduling(profiles=[{"schedulerName": FOO}]):
                await there.scheduled("pod-fits-foo")
                assert (await reporters(there, 3))["pod-fits-foo"] == FOO


async def test_multiple_scheduling_profiles(server: Cluster) -> None:
    async with world(server) as there:
        await there.create_nodes(node("node-multi-scheduler-test-node"))
        profiles = [{"schedulerName": "default-scheduler"}, {"schedulerName": CUSTOM}]
        async with there.scheduling(profiles=profiles):
            await there.create_pods(
                pod("foo"),
                pod("bar", schedulerName="unknown-scheduler"),
                pod("baz", schedulerName="default-scheduler"),
                pod("zet", schedulerName=CUSTOM),
            )
            expected = {"foo": "default-scheduler", "baz": "default-scheduler", "zet": CUSTOM}
            assert await reporters(there, 3) == expected
            assert there.node_of("bar") == ""


async def reporters(there: World, count: int) -> dict[str, str]:
    """Who says that it has bound which pod, once so many were bound."""
    watch = Watch("events.k8s.io/v1", "Event", namespace=there.namespace)
    events = WatchedObjects([watch], there.client, there.changes.tell)
    following = [asyncio.create_task(reflector.run()) for reflector in events.reflectors]

    def reporters_by_pod() -> dict[str, str]:
        scheduled = (event for event in events.list(watch) if event["reason"] == "Scheduled")
        return {event["regarding"]["name"]: event["reportingController"] for event in scheduled}

    try:
        await there.until(lambda: len(reporters_by_pod()) >= count)
        return reporters_by_pod()
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
