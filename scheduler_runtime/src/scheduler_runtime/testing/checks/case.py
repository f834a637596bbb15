"""A cluster and a pod that a plugin is asked about, and what a check is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table import Table
from scheduler_runtime.testing.builders import Cluster
from scheduler_runtime.testing.driver import Asked
from scheduler_runtime.testing.plugin_under_test import PluginUnderTest
from scheduler_runtime.testing.random_objects import RandomObjects
from scheduler_runtime.testing.scenes import Scene


@dataclass(frozen=True)
class Case:
    """One of the clusters, a pod, and more by chance."""

    number: int
    scene: Scene
    pod: Pod
    chance: RandomObjects
    asked: Asked
    """An object of the plugin that was asked about nothing but this case, for checks that change nothing."""
    untouched: Mapping[str, object] = field(init=False, repr=False)
    """All that a plugin could change, as it was before anything was asked."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "untouched", _everything(self.pod, self.cluster))

    @cached_property
    def cluster(self) -> Cluster:
        """The scene as plugins see it, for checks that change nothing."""
        return self.scene.cluster()

    def changed(self) -> str:
        """The first thing that is not as it was before anything was asked; empty when all is."""
        now = _everything(self.pod, self.cluster)
        return next((what for what in self.untouched if now.get(what) != self.untouched[what]), "")

    def __str__(self) -> str:
        spec = msgspec.json.encode({"labels": self.pod.metadata.labels, "spec": self.pod.spec}).decode()
        return f"cluster {self.number}, {len(self.scene.nodes)} nodes, pod {self.pod.key}: {spec}"


def _everything(pod: Pod, cluster: Cluster) -> Mapping[str, object]:
    """All that a plugin could change, as plain values, by what it is called."""
    table = cluster.table
    found: dict[str, object] = {}
    for row, name in enumerate(table.names):
        for part in ("metadata", "spec", "status"):
            found[f"the {part} of node {name}"] = msgspec.to_builtins(getattr(table.node(row), part))
        found[f"what is on node {name}"] = _on(table, row)
    for each in (pod, *(pod for row in range(len(table)) for pod in table.pods(row))):
        for part in ("metadata", "spec", "status", "requests"):
            found[f"the {part} of pod {each.key}"] = msgspec.to_builtins(getattr(each, part))
    return found


def _on(table: Table, row: int) -> object:
    amounts = {resource: int(table.requested(resource)[row]) for resource in sorted(table.resources)}
    return sorted(pod.uid for pod in table.pods(row)), int(table.pod_counts[row]), amounts


Check = Callable[[PluginUnderTest, Case], Iterator[str]]
"""Yields a sentence for each promise that the plugin breaks in a case: what was seen, and what to do."""
