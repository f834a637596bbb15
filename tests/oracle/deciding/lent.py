"""Services for plugins that decide about clusters of another scheduler: the objects, and nothing that acts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduler_runtime.api import Watch
from scheduler_runtime.state.objects import Pod
from scheduler_runtime.testing import Objects


class Watched:
    """The objects of one cluster after another."""

    def __init__(self) -> None:
        self._objects = Objects()
        self._clusters = 0

    def become(self, objects: Objects) -> None:
        """Be the objects of another cluster from now on."""
        self._objects = objects
        self._clusters += 1

    def get(self, watch: Watch) -> Any:
        return self._objects.get(watch)

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        return self._objects.find(watch, name, namespace)

    def list(self, watch: Watch) -> Iterable[Any]:
        return self._objects.list(watch)

    def revision(self, watch: Watch) -> int:
        return self._clusters


class NoBinds:
    """Nothing is bound here: the real scheduler does that."""

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        raise AssertionError("decisions bind nothing")


class NoPreemptions:
    """Nothing is evicted here either."""

    def count_attempt(self) -> None:
        """Do not count."""

    def count_victims(self, victims: int) -> None:
        """Do not count."""

    async def preempt(self, victim: Pod, preemptor: Pod, node: str, plugin: str) -> None:
        raise AssertionError("decisions evict nobody")

    async def clear_nomination(self, pod: Pod) -> None:
        raise AssertionError("decisions change no pod")
