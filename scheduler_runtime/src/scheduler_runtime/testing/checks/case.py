"""A cluster and a pod that a plugin is asked about, and what a check is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import msgspec

from ...wire import Pod
from ..asking import Asked
from ..builders import Cluster
from ..chance import Chance
from ..scenes import Scene
from ..subject import Subject


@dataclass(frozen=True)
class Case:
    """One of the clusters, a pod, and more by chance."""

    number: int
    scene: Scene
    pod: Pod
    chance: Chance
    asked: Asked
    """An object of the plugin that was asked about nothing but this case, for checks that change nothing."""

    @cached_property
    def cluster(self) -> Cluster:
        """The scene as plugins see it, for checks that change nothing."""
        return self.scene.cluster()

    def __str__(self) -> str:
        spec = msgspec.json.encode({"labels": self.pod.metadata.labels, "spec": self.pod.spec}).decode()
        return f"cluster {self.number}, {len(self.scene.nodes)} nodes, pod {self.pod.key}: {spec}"


Check = Callable[[Subject, Case], Iterator[str]]
"""Yields a sentence for each promise that the plugin breaks in a case: what was seen, and what to do."""
