"""One decision after the other, with preemptions and bindings that go on only when a case lets them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime.app.scheduler import Scheduler
from scheduler_runtime.plugins.defaultpreemption import DefaultPreemption
from scheduler_runtime.plugins.queueing_and_binding import DefaultBinder
from scheduler_runtime.scheduling.pending import QueuedPod, QueuePlace
from tests.integration.upstream.support import Object, World, node

LATE_SECONDS = 400.0
"""So much later the queue tries again whatever waits in it."""


@dataclass
class Stage:
    """A scheduler that decides when it is told to."""

    there: World
    process: Scheduler
    doors: dict[str, asyncio.Event] = field(default_factory=dict)
    """What the preemptions of each preemptor wait for."""

    def entry(self, name: str) -> QueuedPod | None:
        return next((entry for entry in self.process.queue.entries() if entry.pod.name == name), None)

    def place(self, name: str) -> QueuePlace | None:
        entry = self.entry(name)
        return entry.place if entry else None

    def is_next(self, name: str) -> bool:
        active = [entry for entry in self.process.queue.entries() if entry.place is QueuePlace.ACTIVE]
        first = min(active, key=lambda entry: entry.key, default=None)
        return first is not None and bool(first.pod.name == name)

    @property
    def pods_on_nodes(self) -> set[str]:
        """The pods that the scheduler counts on nodes."""
        pods = self.process.pods.objects.values()
        return {pod.name for pod in pods if self.process.cache.get(pod.uid)}

    @property
    def all_pods(self) -> set[str]:
        """The pods that the scheduler counts on nodes, or has in its queue."""
        return self.pods_on_nodes | {entry.pod.name for entry in self.process.queue.entries()}


Step = Callable[[Stage], Awaitable[object]]
SCHEDULED, UNSCHEDULABLE, UNKNOWN = "scheduled", "unschedulable", ""


def creates(*pods: Object) -> Step:
    """The scheduler knows each before the next is made, so that they wait in this order."""

    async def step(stage: Stage) -> None:
        for pod in pods:
            await stage.there.create_pod(pod)
            await stage.there.until(lambda name=pod["metadata"]["name"]: name in stage.all_pods)  # type: ignore[misc]

    return step


def creates_node(name: str) -> Step:
    async def step(stage: Stage) -> None:
        await stage.there.create_nodes(node(name, allocatable={"cpu": "4"}))
        await stage.there.until(lambda: name in stage.process.nodes.objects)

    return step


def decides(name: str, outcome: str = UNKNOWN) -> Step:
    """Wait until this pod is the next, decide about it, and look at what came of it."""

    async def step(stage: Stage) -> None:
        await stage.there.until(lambda: stage.is_next(name))
        stage.doors[name] = asyncio.Event()
        await stage.process.loop.schedule_one()
        if outcome == SCHEDULED:
            await stage.there.scheduled(name)
        elif outcome == UNSCHEDULABLE:
            assert stage.place(name) in (QueuePlace.PARKED, QueuePlace.GATED)

    return step


def decides_until_scheduled(name: str) -> Step:
    """Decide about the pod whenever it is the next: the end of its own nomination may wake it once too often."""

    async def step(stage: Stage) -> None:
        while not stage.there.node_of(name):
            if stage.is_next(name):
                await stage.process.loop.schedule_one()
            await stage.there.until(lambda: stage.is_next(name) or stage.there.node_of(name))

    return step


def is_gated(name: str) -> Step:
    """Not even a plugin that wants the pod tried gets it into the queue."""

    async def step(stage: Stage) -> None:
        entry = stage.entry(name)
        assert entry is not None
        stage.process.queue.activate([entry.uid], time.monotonic())
        assert stage.place(name) is QueuePlace.GATED

    return step


def lets_preempt(name: str) -> Step:
    async def step(stage: Stage) -> None:
        stage.doors.pop(name).set()

    return step


def lets_bind() -> Step:
    async def step(stage: Stage) -> None:
        stage.doors["bind"].set()

    return step


def disappear(*names: str) -> Step:
    async def step(stage: Stage) -> None:
        await stage.there.until(lambda: not stage.pods_on_nodes & set(names))

    return step


def stays(name: str) -> Step:
    """Nothing that happened so far has brought the pod back into the queue."""

    async def step(stage: Stage) -> None:
        assert stage.place(name) in (QueuePlace.PARKED, QueuePlace.GATED)

    return step


def flushes() -> Step:
    async def step(stage: Stage) -> None:
        stage.process.queue._flush_ended_waits(time.monotonic() + LATE_SECONDS)

    return step


class BlockedPreemptions:
    """What a plugin preempts through, behind a door for each preemptor."""

    def __init__(self, preemptions: Any, doors: dict[str, asyncio.Event]) -> None:
        self._preemptions = preemptions
        self._doors = doors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._preemptions, name)

    async def preempt(self, victim: Any, preemptor: Any, node: str, plugin: str) -> None:
        if door := self._doors.get(preemptor.name):
            await door.wait()
        await self._preemptions.preempt(victim, preemptor, node, plugin)


class Lent:
    """A handle with another way to preempt."""

    def __init__(self, handle: Any, doors: dict[str, asyncio.Event]) -> None:
        self._handle = handle
        self.preemptions = BlockedPreemptions(handle.preemptions, doors)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)


def blockable_in_tree(doors: dict[str, asyncio.Event], blocked: str) -> list[type[Any]]:
    """DefaultPreemption, and DefaultBinder for pods with ``blocked`` in their names, that wait at doors."""

    class Preemption(DefaultPreemption):
        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, Lent(handle, doors))

    class Binder(DefaultBinder):
        async def bind(self, pod: Any, node: str, state: Any) -> Any:
            if blocked in pod.name:
                await doors["bind"].wait()
            return await super().bind(pod, node, state)

    return [Preemption, Binder]
