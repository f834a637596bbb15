"""The two inputs of every check: the plugin under test, and a case, which is a random cluster and a random pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

import msgspec

from scheduler_runtime.api import SKIP, Plugin, PluginArgs, Reject, declaration_of, hooks_of
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework import Framework
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.state.objects import Pod
from scheduler_runtime.testing.builders import Cluster, effective_profile, offline
from scheduler_runtime.testing.driver import PluginDriver, state_of
from scheduler_runtime.testing.objects import Objects
from scheduler_runtime.testing.random_objects import RandomObjects
from scheduler_runtime.testing.scenes import Scene


@dataclass(frozen=True, slots=True)
class PluginUnderTest:
    """The plugin that is checked: its class, and a way to make objects of it.

    Most checks make objects of their own, because a plugin may remember what an earlier check showed to it.
    """

    kind: type[Plugin]
    args: PluginArgs | None
    make_framework: Callable[[], Framework] = field(repr=False)

    @classmethod
    def configure(
        cls,
        kind: type[Plugin],
        args: Mapping[str, Any] | PluginArgs | None,
        objects: Objects,
        version: str,
        seed: int,
    ) -> PluginUnderTest:
        """Put the plugin into a profile of its own. Raises ValueError when these are not arguments of the plugin.

        A Framework needs a plugin that sorts the queue and one that binds: the profile has those of Kubernetes, unless
        the plugin does this itself.
        """
        declaration = declaration_of(kind)
        sorting = [] if "queueSort" in declaration.points else [{"name": "PrioritySort"}]
        binding = [] if declaration.name == "DefaultBinder" else [{"name": "DefaultBinder"}]
        enabled = [*sorting, {"name": declaration.name}, *binding]
        as_in_yaml = args.model_dump(mode="json", by_alias=True) if isinstance(args, PluginArgs) else args
        document = {
            "plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}},
            "pluginConfig": [] if as_in_yaml is None else [{"name": declaration.name, "args": dict(as_in_yaml)}],
        }
        target = Target.parse(version)
        profile = effective_profile(document, [kind], target)
        classes = {**IN_TREE, declaration.name: kind}

        def make_framework() -> Framework:
            return Framework(profile, offline(objects), target.version, seed, classes)

        return cls(kind, profile.args.get(declaration.name), make_framework)

    @property
    def name(self) -> str:
        """The name of the plugin in documents."""
        return declaration_of(self.kind).name

    @property
    def hooks(self) -> frozenset[str]:
        """The hooks that the plugin has."""
        return hooks_of(self.kind)

    def has(self, *hooks: str) -> bool:
        """Return whether the plugin has any of ``hooks``."""
        return not self.hooks.isdisjoint(hooks)

    def new_driver(self) -> PluginDriver:
        """Make a new object of the plugin, one that no hook has been called on. Raises RegistrationError."""
        return PluginDriver(self.make_framework(), self.name, self.hooks)


@dataclass(frozen=True)
class Case:
    """A cluster, a pod, and a source of further random objects.

    Its text names the cluster by its number and has the pod as JSON: with the seed, an author can make the case again.
    """

    number: int
    scene: Scene
    pod: Pod
    random_objects: RandomObjects
    driver: PluginDriver
    """An object of the plugin that sees nothing but this case, for checks that change nothing in it."""
    before: Mapping[str, object] = field(init=False, repr=False)
    """All that a plugin could change, as it was before any hook ran."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "before", _values_by_name(self.pod, self.cluster))

    @cached_property
    def cluster(self) -> Cluster:
        """The scene as plugins see it, for checks that change nothing in it."""
        return self.scene.cluster()

    @property
    def random(self) -> Random:
        """The source of chance that the seed repeats."""
        return self.random_objects.random

    def first_change(self) -> str:
        """Return the first thing in cluster and pod that is not as it was before any hook ran; empty if all is."""
        now = _values_by_name(self.pod, self.cluster)
        return next((name for name, value in self.before.items() if now.get(name) != value), "")

    def state(self, driver: PluginDriver) -> object:
        """Return the state of ``driver``'s ``pre_filter`` in this cluster, as hooks after the decision get it."""
        with driver.decision(self.cluster) as nodes:
            answer = driver.pre_filter(self.pod, nodes)
        return None if answer is SKIP or isinstance(answer, Reject) else state_of(answer)

    def __str__(self) -> str:
        spec = msgspec.json.encode({"labels": self.pod.metadata.labels, "spec": self.pod.spec}).decode()
        return f"cluster {self.number}, {len(self.scene.nodes)} nodes, pod {self.pod.key}: {spec}"


def _values_by_name(pod: Pod, cluster: Cluster) -> Mapping[str, object]:
    """Return all that a plugin could change, as plain values, by the words for it in a message."""
    table = cluster.table
    values: dict[str, object] = {}
    for row, name in enumerate(table.names):
        for part in ("metadata", "spec", "status"):
            values[f"the {part} of node {name}"] = msgspec.to_builtins(getattr(table.node(row), part))
        amounts = {resource: int(table.requested(resource)[row]) for resource in sorted(table.resources)}
        uids = sorted(placed.uid for placed in table.pods(row))
        values[f"what is on node {name}"] = (uids, int(table.pod_counts[row]), amounts)
    for any_pod in (pod, *(placed for row in range(len(table)) for placed in table.pods(row))):
        for part in ("metadata", "spec", "status", "requests"):
            values[f"the {part} of pod {any_pod.key}"] = msgspec.to_builtins(getattr(any_pod, part))
    return values


Check = Callable[[PluginUnderTest, Case], Iterator[str]]
"""Yields a sentence for each promise that the plugin breaks in a case: what happened, and what to do.

Nothing for a plugin that lacks the hooks that the check is about. Raises PluginError when a hook fails.
"""
