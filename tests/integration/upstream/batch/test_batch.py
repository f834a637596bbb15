"""upstream: test/integration/scheduler/batch, pods that are alike and for which not everything is asked again.

Upstream hands the nodes that were ranked for one pod to the next of its kind. Here what plugins say of each node is
kept for all pods of a kind, so a pod also profits after a pod of another kind, and where its node has room for more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from devcluster import Cluster
from scheduler_runtime.api import Reject
from tests.integration.upstream.support import CasePlugin, Object, node, pod, profile_with, world
from tests.integration.upstream.written import PREFERRED

pytestmark = pytest.mark.cluster

DEFAULT, OTHER = "default-scheduler", "mysched"


class CountsFilterCalls(CasePlugin):
    """Rejects nothing, and tells for which pods it was asked about all nodes at once."""

    name = "asked"
    row_local = True

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterable[Reject]:
        self.calls.add(pod.name)
        return ()


class WithSignature(CountsFilterCalls):
    name = "signed"

    def filter_row(self, pod: Any, nodes: Any, state: Any, row: int) -> Iterable[Reject]:
        return ()

    def signature(self, pod: Any) -> Hashable:
        return ()


class WithEmptySignature(WithSignature):
    name = "emptysign"

    def signature(self, pod: Any) -> Hashable:
        return None


@dataclass(frozen=True)
class Coming:
    """A pod, the node that it goes to, and whether all nodes have to be looked at for it."""

    expected: str
    prefers: tuple[str, ...] = ()
    selects: Object = field(default_factory=dict)
    anew: bool = False

    def pod(self, name: str, scheduler_name: str) -> Object:
        count = len(self.prefers)
        terms = [{"weight": count - place, "preference": named(prefer)} for place, prefer in enumerate(self.prefers)]
        affinity = {"affinity": {"nodeAffinity": {PREFERRED: terms}}} if terms else {}
        requests = {"cpu": "10", "memory": "4Mi"}
        return pod(name, requests, nodeSelector=self.selects, schedulerName=scheduler_name, **affinity)


def named(name: str) -> Object:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}


def room_for(count: int, *names: str, labels: Object | None = None) -> list[Object]:
    room = {"cpu": "100", "memory": "4Gi", "pods": str(count)}
    return [node(name, labels, allocatable=room) for name in names]


def profile(plugin: type[CountsFilterCalls], scheduler_name: str) -> Object:
    """Without spreading by default, which is not row by row."""
    args = {"defaultConstraints": [], "defaultingType": "List"}
    config = [{"name": "PodTopologySpread", "args": args}]
    return profile_with(plugin, schedulerName=scheduler_name, pluginConfig=config)


THREE, FIRST_TWO, LAST_TWO = ("n1", "n2", "n3"), ("n1", "n2"), ("n4", "n3")
FOUR = ("n4", "n3", "n2", "n1")


def batch(prefers: tuple[str, ...], *expected: str) -> list[Coming]:
    """Pods that are alike: only for the first of them all nodes have to be looked at."""
    return [Coming(node_name, prefers, anew=number == 0) for number, node_name in enumerate(expected)]


@pytest.mark.parametrize(
    ("nodes", "pods"),
    [
        pytest.param(room_for(1, "n1"), batch((), "n1"), id="one-pod-one-node"),
        pytest.param(
            [new_node for name in "321" for new_node in room_for(10, f"n{name}", labels={"forpod": name})],
            [Coming(f"n{name}", selects={"forpod": name}, anew=True) for name in "123"],
            id="distinct-pods-on-distinct-nodes",
        ),
        pytest.param(room_for(1, "n3", "n2", "n1"), batch(THREE, "n1", "n2", "n3"), id="three-pod-batch"),
        pytest.param(
            room_for(1, *FOUR),
            batch(FIRST_TWO, "n1", "n2") + batch(LAST_TWO, "n4", "n3"),
            id="two-consecutive-batches",
        ),
        pytest.param(
            room_for(2, *FOUR),
            batch(FIRST_TWO, "n1", "n1") + batch(LAST_TWO, "n4", "n4"),
            id="multiple-pods-per-node",
        ),
        pytest.param(room_for(1, "n1"), batch((), "n1", ""), id="unschedulable-pod"),
    ],
)
async def test_batch_scenarios(server: Cluster, nodes: list[Object], pods: list[Coming]) -> None:
    await come(server, nodes, WithSignature, [(coming, DEFAULT) for coming in pods])


@pytest.mark.parametrize(
    ("plugin", "schedulers"),
    [
        pytest.param(WithSignature, (DEFAULT, OTHER), id="no-batching-between-schedulers"),
        pytest.param(CountsFilterCalls, (DEFAULT, DEFAULT), id="no-batching-missing-sign"),
        pytest.param(WithEmptySignature, (DEFAULT, DEFAULT), id="no-batching-empty-sign"),
    ],
)
async def test_batch_scenarios_without_batches(
    server: Cluster, plugin: type[CountsFilterCalls], schedulers: tuple[str, str]
) -> None:
    """The rest of upstream's table: nothing is kept from the first pod for the second."""
    pods = [(Coming(expected, THREE, anew=True), name) for expected, name in zip(THREE, schedulers, strict=False)]
    await come(server, room_for(1, "n3", "n2", "n1"), plugin, pods)


async def come(
    server: Cluster, nodes: list[Object], kind: type[CountsFilterCalls], pods: list[tuple[Coming, str]]
) -> None:
    """Let the pods come one after the other, each to its scheduler."""
    async with world(server) as there:
        plugin = there.plugin(kind)
        await there.create_nodes(*nodes)
        async with there.scheduling(plugin, profiles=[profile(plugin, name) for name in (DEFAULT, OTHER)]):
            for number, (coming, scheduler_name) in enumerate(pods):
                await there.create_pod(coming.pod(f"p{number}", scheduler_name))
                if coming.expected:
                    assert await there.scheduled(f"p{number}") == coming.expected
                else:
                    await there.unschedulable(f"p{number}")
        anew = [f"p{number}" for number, (coming, _) in enumerate(pods) if coming.anew]
        assert plugin.calls.log == anew
