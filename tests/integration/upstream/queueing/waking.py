"""Pods that fit nowhere, a change, and who comes back because of it.

The scheduler decides once about each pod and then no more, so that who is active was woken by the change alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from devcluster import Cluster
from scheduler_runtime.api import Plugin
from scheduler_runtime.app.scheduler import Scheduler
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.integration.upstream.support import JSON_PATCH, MERGE_PATCH, NODES, STRATEGIC_PATCH, Object, World, world

_WOKEN = re.compile(r'^scheduler_queue_incoming_pods_total\{queue="active",event="(\w+)"\} (\d+)$', re.MULTILINE)


@dataclass(frozen=True)
class Scene:
    """A scheduler that follows the API server, and what it knows of it."""

    there: World
    process: Scheduler

    async def sees(self, item: Object) -> None:
        """Wait until the scheduler has taken in this version of a node or pod, and whatever follows from it."""
        metadata = item["metadata"]
        version = int(metadata["resourceVersion"])
        follows = self.process.pods if "namespace" in metadata else self.process.nodes
        key = f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else metadata["name"]

        def is_current() -> bool:
            watched = follows.objects.get(key)
            return watched is not None and int(watched.metadata.resource_version) >= version

        await self.there.until(is_current)

    def at(self, *places: QueuePlace) -> set[str]:
        """The names of the pods that wait there."""
        return {entry.pod.name for entry in self.process.queue.entries() if entry.place in places}

    def woken(self) -> Counter[str]:
        """How many pods became active because of what."""
        return Counter({event: int(count) for event, count in _WOKEN.findall(self.process.loop._metrics.text())})


@dataclass(frozen=True)
class Change:
    """Something that happens, and what upstream's metrics call it where it wakes a pod."""

    event: str
    happen: Callable[[Scene], Awaitable[None]]


def node_comes(node: Object) -> Change:
    async def happen(scene: Scene) -> None:
        await scene.sees(await scene.there.create(NODES, node))

    return Change("NodeAdd", happen)


def node_goes(name: str) -> Change:
    async def happen(scene: Scene) -> None:
        await scene.there.delete(f"{NODES}/{name}")
        await scene.there.until(lambda: name not in scene.process.nodes.objects)

    return Change("NodeDelete", happen)


def node_is_relabelled(name: str, **labels: str | None) -> Change:
    return _node_changes("NodeUpdateNodeLabel", name, {"metadata": {"labels": labels}})


def node_is_tainted(name: str, *taints: Object) -> Change:
    """From now on the node has these taints and no others."""
    return _node_changes("NodeUpdateNodeTaint", name, {"spec": {"taints": list(taints) or None}})


def node_is_cordoned(name: str, *, on: bool) -> Change:
    return _node_changes("NodeUpdateNodeTaint", name, {"spec": {"unschedulable": on}})


def node_offers(name: str, amounts: Mapping[str, str | None]) -> Change:
    """The node offers so much of these, and of what is None nothing any more."""
    status = {"capacity": amounts, "allocatable": amounts}
    return _node_changes("NodeUpdateNodeAllocatable", f"{name}/status", {"status": status})


def node_declares(name: str, *features: str) -> Change:
    status = {"declaredFeatures": list(features)}
    return _node_changes("NodeUpdateNodeDeclaredFeature", f"{name}/status", {"status": status})


def _node_changes(event: str, path: str, patch: Object) -> Change:
    async def happen(scene: Scene) -> None:
        await scene.sees(await scene.there.patch(f"{NODES}/{path}", patch))

    return Change(event, happen)


def pod_is_scheduled(pod: Object) -> Change:
    """A pod comes that has its node."""

    async def happen(scene: Scene) -> None:
        await scene.sees(await scene.there.create_pod(pod))

    return Change("AssignedPodAdd", happen)


def pod_goes(name: str) -> Change:
    """A pod goes that had its node."""

    async def happen(scene: Scene) -> None:
        await scene.there.delete(scene.there.path(name))
        await scene.there.until(lambda: f"{scene.there.namespace}/{name}" not in scene.process.pods.objects)

    return Change("AssignedPodDelete", happen)


def pod_is_relabelled(name: str, **labels: str | None) -> Change:
    """The event is that of a pod which has a node: in no row is a pod woken by labels of its own."""
    return _pod_changes("AssignedPodUpdatePodLabel", name, {"metadata": {"labels": labels}})


def pod_tolerates(name: str, key: str) -> Change:
    """The pod tolerates this taint too."""
    added = {"op": "add", "path": "/spec/tolerations/-", "value": {"key": key, "operator": "Exists"}}
    return _pod_changes("UnschedulablePodUpdatePodToleration", name, [added], JSON_PATCH)


def pod_uses(name: str, image: str) -> Change:
    replaced = {"op": "replace", "path": "/spec/containers/0/image", "value": image}
    return _pod_changes("UnschedulablePodUpdate", name, [replaced], JSON_PATCH)


def pod_is_scaled_down(name: str, **requests: str) -> Change:
    spec = {"containers": [{"name": "pause", "resources": {"requests": requests}}]}
    return _pod_changes("UnschedulablePodUpdatePodScaleDown", f"{name}/resize", {"spec": spec}, STRATEGIC_PATCH)


def _pod_changes(event: str, path: str, patch: Any, content_type: str = MERGE_PATCH) -> Change:
    async def happen(scene: Scene) -> None:
        await scene.sees(await scene.there.patch(scene.there.path(path), patch, content_type))

    return Change(event, happen)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of upstream's table."""

    plugins: str = ""
    """The plugins of the profile, beside those without which there is none; if empty, those of the whole table."""
    nodes: Sequence[Object]
    placed: Sequence[Object] = ()
    """Pods that have a node from the start."""
    pods: Sequence[Object]
    changes: Sequence[Change]
    woken: str = ""
    """The pods that the first of the changes wakes."""
    rejecting: str = ""
    """Who rejects the pods, where not all of ``plugins`` do."""
    gates: Mapping[str, bool] = field(default_factory=dict)


def rows(plugins: str, table: Mapping[str, Row]) -> pytest.MarkDecorator:
    """The rows of a table, by their ids."""
    params = [pytest.param(replace(row, plugins=row.plugins or plugins), id=name) for name, row in table.items()]
    return pytest.mark.parametrize("row", params)


async def comes_back(server: Cluster, row: Row, *plugins: type[Plugin]) -> None:
    """Go through ``row``, with ``plugins`` instead of those of the same names."""
    async with world(server) as there:
        await there.create_nodes(*row.nodes)
        await there.create_pods(*row.placed, *row.pods)
        how = {"profiles": [_profile(row.plugins)], "feature_gates": row.gates}
        async with there.stepping(*plugins, **how) as process:
            scene = Scene(there, process)
            await _is_rejected_everywhere(scene, row)
            before = scene.woken()
            for change in row.changes:
                await change.happen(scene)
            expected, came = set(row.woken.split()), scene.woken() - before
            assert scene.at(QueuePlace.ACTIVE) == expected, came
            assert came == Counter({row.changes[0].event: len(expected)} if expected else ()), came


async def _is_rejected_everywhere(scene: Scene, row: Row) -> None:
    names = {pod["metadata"]["name"] for pod in row.pods}
    assert scene.at(QueuePlace.ACTIVE) == names
    for _ in names:
        await scene.process.loop.schedule_one()
    assert scene.at(QueuePlace.PARKED) == names
    rejecting = {plugin for entry in scene.process.queue.entries() for plugin in entry.plugins}
    assert rejecting == set((row.rejecting or row.plugins).split())


def _profile(plugins: str) -> Object:
    enabled = [{"name": name} for name in ("PrioritySort", "DefaultBinder", *plugins.split())]
    points = {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}
    return {"schedulerName": "default-scheduler", "plugins": points}
