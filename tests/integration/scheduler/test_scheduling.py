"""Scheduling on a real API server, as a user sees it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from devcluster import Cluster
from scheduler_runtime.kube.client import ApiError
from tests.integration.scheduler.support import ApiView, SchedulerProcess, api, document, lease_of, scheduler

pytestmark = pytest.mark.cluster

MERGE_PATCH = "application/merge-patch+json"
PODS = "/api/v1/namespaces/default/pods"


@asynccontextmanager
async def scheduling(
    cluster: Cluster, directory: Path, **changes: Any
) -> AsyncIterator[tuple[ApiView, SchedulerProcess]]:
    """A scheduler that leads, and the API server."""
    async with api(cluster) as there:
        with scheduler(directory, cluster.kubeconfig, document(lease_of(directory), **changes)) as process:
            await there.until(lambda: process.is_scheduling, 30)
            yield there, process


async def test_a_bound_pod_says_who_bound_it_and_where(cluster: Cluster, tmp_path: Path) -> None:
    async with scheduling(cluster, tmp_path) as (there, process):
        await there.create_pods(1, "a")
        await there.all_bound(1)
        (bound,) = await there.pods()

        async def scheduled_events() -> list[Any]:
            return await there.events("a-0", "Scheduled")

        (event,) = await there.eventually(scheduled_events, 30)
        node = bound["spec"]["nodeName"]
        assert event["note"] == f"Successfully assigned default/a-0 to {node}"
        assert (event["reportingController"], event["type"], event["action"]) == ("berth", "Normal", "Binding")
        assert process.metric("scheduler_schedule_attempts_total", result="scheduled", profile="berth") == 1


async def test_a_pod_that_fits_nowhere_says_why_and_is_placed_when_a_node_comes(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with scheduling(cluster, tmp_path) as (there, process):
        await there.create_pods(1, "a", nodeSelector={"kubernetes.io/hostname": "late"})
        text = (
            "0/20 nodes are available: 20 node(s) didn't match Pod's node affinity/selector. "
            "no new claims to deallocate, "
            "preemption: 0/20 nodes are available: 20 Preemption is not helpful for scheduling."
        )

        async def says_so() -> bool:
            condition = await there.condition("a-0")
            return (condition.get("reason"), condition.get("message")) == ("Unschedulable", text)

        await there.eventually(says_so, 20)

        async def failed_events() -> list[Any]:
            return await there.events("a-0", "FailedScheduling")

        (event,) = await there.eventually(failed_events, 30)
        assert event["note"] == text
        assert process.metric("scheduler_pending_pods", queue="unschedulable") == 1
        node = {
            "metadata": {"name": "late", "labels": {"kubernetes.io/hostname": "late"}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
        }
        try:
            await there.client.request("POST", "/api/v1/nodes", body=node)
            cluster.kubectl("taint", "node", "late", "node.kubernetes.io/not-ready-", check=False)
            await there.all_bound(1, 20)
        finally:
            await there.client.request("DELETE", "/api/v1/nodes/late")


async def test_room_that_becomes_free_is_used(cluster: Cluster, tmp_path: Path) -> None:
    async with scheduling(cluster, tmp_path) as (there, _):
        await there.create_pods(1, "first", cpu="20", nodeSelector={"kubernetes.io/hostname": "kwok-0"})
        await there.all_bound(1)
        await there.create_pods(1, "second", cpu="20", nodeSelector={"kubernetes.io/hostname": "kwok-0"})

        async def waits() -> bool:
            return bool((await there.condition("second-0")).get("message"))

        await there.eventually(waits, 20)
        await there.client.request("DELETE", f"{PODS}/first-0", body={"gracePeriodSeconds": 0})
        await there.all_bound(1, 20)


async def test_scheduling_gates_hold_a_pod_until_they_are_removed(cluster: Cluster, tmp_path: Path) -> None:
    async with scheduling(cluster, tmp_path) as (there, process):
        await there.create_pods(1, "gated", schedulingGates=[{"name": "example.com/wait"}])
        await there.until(lambda: process.metric("scheduler_pending_pods", queue="gated") == 1, 20)
        assert await there.bound() == []
        patch = {"spec": {"schedulingGates": None}}
        await there.client.request("PATCH", f"{PODS}/gated-0", body=patch, content_type=MERGE_PATCH)
        await there.all_bound(1, 20)


async def test_multiple_scheduling_profiles_share_what_they_know(cluster: Cluster, tmp_path: Path) -> None:
    profiles = [{"schedulerName": "berth"}, {"schedulerName": "other"}]
    async with scheduling(cluster, tmp_path, profiles=profiles) as (there, process):
        place = {"nodeSelector": {"kubernetes.io/hostname": "kwok-1"}}
        for number in range(20):
            name = ("berth", "other")[number % 2]
            await there.create_pods(1, f"p{number}", cpu="3", **place, schedulerName=name)

        async def settled() -> bool:
            waiting = process.metric("scheduler_pending_pods", queue="unschedulable")
            return len(await there.bound()) == 10 and waiting == 10

        await there.eventually(settled, 30)
        assert await there.overcommitted() == []

        async def both_report() -> bool:
            events = [*await there.events("p0-0", "Scheduled"), *await there.events("p1-0", "Scheduled")]
            return {event["reportingController"] for event in events} == {"berth", "other"}

        await there.eventually(both_report, 30)


async def test_multiple_schedulers_leave_pods_of_others_alone_and_count_them(cluster: Cluster, tmp_path: Path) -> None:
    async with scheduling(cluster, tmp_path) as (there, _):
        where = {"nodeSelector": {"kubernetes.io/hostname": "kwok-2"}}
        await there.create_pods(1, "foreign", cpu="30", schedulerName="somebody-else", **where)
        binding = {"metadata": {"name": "foreign-0"}, "target": {"kind": "Node", "name": "kwok-2"}}
        await there.create_pods(1, "ours")
        await there.all_bound(1)
        await there.client.request("POST", f"{PODS}/foreign-0/binding", body=binding)
        await there.create_pods(1, "late", cpu="3", **where)

        async def waits() -> bool:
            return "Insufficient cpu" in (await there.condition("late-0")).get("message", "")

        await there.eventually(waits, 20)


async def test_unschedulable_nodes_get_no_pods_until_they_are_uncordoned(cluster: Cluster, tmp_path: Path) -> None:
    async with scheduling(cluster, tmp_path) as (there, _):
        cluster.kubectl("cordon", "kwok-3")
        try:
            await there.create_pods(1, "a", nodeSelector={"kubernetes.io/hostname": "kwok-3"})

            async def says_so() -> bool:
                return "1 node(s) were unschedulable" in (await there.condition("a-0")).get("message", "")

            await there.eventually(says_so, 20)
        finally:
            cluster.kubectl("uncordon", "kwok-3")
        await there.all_bound(1, 20)


async def test_a_pod_with_nonsense_says_which_field_and_harms_nobody(cluster: Cluster, tmp_path: Path) -> None:
    """The API server lets operators and values pass that no node can match."""
    async with scheduling(cluster, tmp_path) as (there, process):
        terms = [{"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["9"]}]}]
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
        await there.create_pods(1, "odd", affinity=affinity)
        await there.create_pods(3, "good")
        await there.all_bound(3)
        condition = await there.eventually(lambda: there.condition("odd-0"), 30)
        assert condition["reason"] == "Unschedulable"
        assert process.process.poll() is None


async def test_readiness_configuration_and_metrics_are_served(cluster: Cluster, tmp_path: Path) -> None:
    async with scheduling(cluster, tmp_path) as (_, process):
        assert (process.get("/livez"), process.get("/readyz")) == ("ok", "ok")
        loaded = json.loads(process.get("/configz"))
        assert loaded["componentconfig"]["profiles"][0]["schedulerName"] == "berth"
        assert len(loaded["hash"]) == 64
        assert process.metric("leader_election_master_status") == 1


async def test_an_event_in_a_namespace_that_is_being_deleted_is_no_trouble(cluster: Cluster) -> None:
    """The API server names that as the cause of its refusal, by which it differs from a right that is missing."""
    namespace, kept = "/api/v1/namespaces/ending", "/api/v1/namespaces/ending/configmaps/kept"
    event = {
        "metadata": {"generateName": "late-"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "tests",
        "reportingInstance": "tests",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "type": "Warning",
        "regarding": {"kind": "Pod", "name": "gone", "namespace": "ending"},
    }
    async with api(cluster) as there:
        await there.client.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "ending"}})
        configuration = {"metadata": {"name": "kept", "finalizers": ["example.com/keeps"]}}
        await there.client.request("POST", f"{namespace}/configmaps", body=configuration)
        await there.client.request("DELETE", namespace)

        async def refusal() -> ApiError | None:
            try:
                path = "/apis/events.k8s.io/v1/namespaces/ending/events"
                await there.client.request("POST", path, body=event)
            except ApiError as error:
                return error
            return None

        refused = await there.eventually(refusal, 10)
        assert refused is not None
        assert (refused.status, refused.is_namespace_ending) == (403, True)
        nothing_keeps_it: dict[str, Any] = {"metadata": {"finalizers": []}}
        await there.client.request("PATCH", kept, body=nothing_keeps_it, content_type=MERGE_PATCH)
