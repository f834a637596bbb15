"""Pods that fit nowhere, a change, and who comes back because of it.

The scheduler decides once about each pod and then no more, so that who is active was woken by the change alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from devcluster import Cluster
from scheduler_runtime.api import Plugin
from scheduler_runtime.pending import Place
from scheduler_runtime.process import Process
from tests.integration.upstream.support import JSON_PATCH, NODES, STRATEGIC_PATCH, Object, World, world

_WOKEN = re.compile(r'^scheduler_queue_incoming_pods_total\{queue="active",event="(\w+)"\} (\d+)$', re.MULTILINE)


@dataclass(frozen=True)
class Scene:
    """A scheduler that follows the API server, and what it knows of it."""

    there: World
    process: Process

    async def sees(self, item: Object) -> None:
        """Wait until the scheduler has taken in this version of a node or pod, and whatever follows from it."""
        metadata = item["metadata"]
        version = int(metadata["resourceVersion"])
        follows = self.process.pods if "namespace" in metadata else self.process.nodes
        key = f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else metadata["name"]

        def is_known() -> bool:
            known = follows.objects.get(key)
            return known is not None and int(known.metadata.resource_version) >= version

        await self.there.until(is_known)

    def at(self, *places: Place) -> set[str]:
        """The names of the pods that wait there."""
        return {entry.pod.name for entry in self.process.pending.entries() if entry.place in places}

    def woken(self) -> Counter[str]:
        """How many pods became active because of what."""
        return Counter({event: int(count) for event, count in _WOKEN.findall(self.process.loop._metrics.text())})


Change = Callable[[Scene], Awaitable[None]]


def node_comes(node: Object) -> Change:
    async def change(scene: Scene) -> None:
        await scene.sees(await scene.there.create(NODES, node))

    return change


def node_goes(name: str) -> Change:
    async def change(scene: Scene) -> None:
        await scene.there.delete(f"{NODES}/{name}")
        await scene.there.until(lambda: name not in scene.process.nodes.objects)

    return change


def node_is_relabelled(name: str, **labels: str | None) -> Change:
    return _node_changes(name, {"metadata": {"labels": labels}})


def node_is_tainted(name: str, *taints: Object) -> Change:
    """From now on the node has these taints and no others."""
    return _node_changes(name, {"spec": {"taints": list(taints) or None}})


def node_is_cordoned(name: str, *, on: bool) -> Change:
    return _node_changes(name, {"spec": {"unschedulable": on}})


def node_offers(name: str, amounts: Mapping[str, str | None]) -> Change:
    """The node offers so much of these, and of what is None nothing any more."""
    return _node_changes(f"{name}/status", {"status": {"capacity": amounts, "allocatable": amounts}})


def node_declares(name: str, *features: str) -> Change:
    return _node_changes(f"{name}/status", {"status": {"declaredFeatures": list(features)}})


def _node_changes(path: str, patch: Object) -> Change:
    async def change(scene: Scene) -> None:
        await scene.sees(await scene.there.patch(f"{NODES}/{path}", patch))

    return change


def pod_comes(pod: Object) -> Change:
    async def change(scene: Scene) -> None:
        await scene.sees(await scene.there.create_pod(pod))

    return change


def pod_goes(name: str) -> Change:
    async def change(scene: Scene) -> None:
        await scene.there.delete(scene.there.path(name))
        await scene.there.until(lambda: f"{scene.there.namespace}/{name}" not in scene.process.pods.objects)

    return change


def pod_is_relabelled(name: str, **labels: str | None) -> Change:
    async def change(scene: Scene) -> None:
        await scene.sees(await scene.there.patch(scene.there.path(name), {"metadata": {"labels": labels}}))

    return change


def pod_tolerates(name: str, key: str) -> Change:
    """The pod tolerates this taint too."""
    return pod_is_edited(
        name, {"op": "add", "path": "/spec/tolerations/-", "value": {"key": key, "operator": "Exists"}}
    )


def pod_is_edited(name: str, *edits: Object) -> Change:
    async def change(scene: Scene) -> None:
        await scene.sees(await scene.there.patch(scene.there.path(name), list(edits), JSON_PATCH))

    return change


def pod_is_resized(name: str, **requests: str) -> Change:
    spec = {"containers": [{"name": "pause", "resources": {"requests": requests}}]}

    async def change(scene: Scene) -> None:
        await scene.sees(await scene.there.patch(f"{scene.there.path(name)}/resize", {"spec": spec}, STRATEGIC_PATCH))

    return change


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of upstream's table."""

    plugins: str
    """The plugins of the profile, beside those without which there is none."""
    nodes: Sequence[Object]
    placed: Sequence[Object] = ()
    """Pods that have a node from the start."""
    pods: Sequence[Object]
    changes: Sequence[Change]
    woken: str = ""
    by: str = ""
    """What upstream's metrics call the event that wakes them."""
    rejecting: str = ""
    """Who rejects the pods, where not all of ``plugins`` do."""
    gates: Mapping[str, bool] = field(default_factory=dict)


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
                await change(scene)
            wanted, came = set(row.woken.split()), scene.woken() - before
            assert scene.at(Place.ACTIVE) == wanted, came
            assert came == Counter({row.by: len(wanted)} if wanted else ()), came


async def _is_rejected_everywhere(scene: Scene, row: Row) -> None:
    names = {pod["metadata"]["name"] for pod in row.pods}
    assert scene.at(Place.ACTIVE) == names
    for _ in names:
        await scene.process.loop.schedule_one()
    assert scene.at(Place.PARKED) == names
    rejecting = {plugin for entry in scene.process.pending.entries() for plugin in entry.plugins}
    assert rejecting == set((row.rejecting or row.plugins).split())


def _profile(plugins: str) -> Object:
    enabled = [{"name": name} for name in ("PrioritySort", "DefaultBinder", *plugins.split())]
    points = {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}
    return {"schedulerName": "default-scheduler", "plugins": points}
