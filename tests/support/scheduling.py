"""Everything between the queue and the API server, in memory up to HTTP, with plugins of a test's choice."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime import testing
from scheduler_runtime.api import Plugin, Pod
from scheduler_runtime.catalog import Version
from scheduler_runtime.config import ExtenderConfig
from scheduler_runtime.framework import PluginServices
from scheduler_runtime.scheduling.binding_cycle import BindingCycle
from scheduler_runtime.scheduling.binding_sender import FencedError
from scheduler_runtime.scheduling.extenders import ExtenderFactory
from scheduler_runtime.scheduling.failed_attempts import FailedAttempts
from scheduler_runtime.scheduling.loop import SchedulingLoop
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.pending import BackingOff, QueuePlace, SchedulingQueue
from scheduler_runtime.scheduling.pods_underway import BindingSlots, PodsUnderway
from scheduler_runtime.scheduling.preemption import Preemption
from scheduler_runtime.scheduling.recent_failures import RecentFailures
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.scheduling.reporting.pod_reporter import PodConditions, PodReporter
from scheduler_runtime.state.cache import Cache
from tests.support.scripted import Script, serving


@dataclass
class Binds:
    """Binds; or waits first, or fails, as the test says for a pod's name."""

    bound: list[tuple[str, str]] = field(default_factory=list)
    hold: dict[str, asyncio.Event] = field(default_factory=dict)
    trouble: dict[str, Exception] = field(default_factory=dict)
    fenced: bool = False
    really_bound: dict[str, str] = field(default_factory=dict)
    """Where pods are that others bind."""

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        if name in self.hold:
            await self.hold[name].wait()
        if name in self.trouble:
            raise self.trouble[name]
        self.bound.append((name, node))

    def check_fence(self) -> None:
        if self.fenced:
            raise FencedError("this scheduler does not lead any more")

    async def is_bound(self, pod: Pod, node: str) -> bool:
        return self.really_bound.get(pod.name) == node


class Scene:
    """One node of four cores, and everything between the queue and the API server."""

    def __init__(
        self,
        script: Script,
        client: Any,
        *plugins: type[Plugin],
        without: Iterable[str] = (),
        version: str = "v1.36.4",
        extenders: Iterable[Mapping[str, Any]] = (),
        slots: BindingSlots | None = None,
    ) -> None:
        self.script = script
        self.binds = Binds()
        self.recent = RecentFailures()
        self.cache = Cache()
        self.cache.set_node(testing.node("n", cpu="4"))
        self.outbox = Outbox()
        self.events_of_pods = PodEvents(client, self.outbox, "host")
        services = self.services = PluginServices(self.binds, lambda *_: None, lambda _: None, testing.Objects())
        enabled = [{"name": plugin.__name__} for plugin in plugins]
        disabled = [{"name": name} for name in without]
        profile = {"plugins": {"multiPoint": {"enabled": enabled, "disabled": disabled}}}
        self.extenders = ExtenderFactory(client, self.binds, self.recent)
        chain = self.extenders.build([ExtenderConfig.model_validate_json(json.dumps(config)) for config in extenders])
        frameworks = self.frameworks = {
            "test": testing.framework(profile, *plugins, services=services, version=version, extenders=chain)
        }
        self.metrics = Metrics()
        conditions = PodConditions(client, self.outbox, services.nominations)
        self.reporter = PodReporter(self.events_of_pods, conditions)
        self.queue = SchedulingQueue(
            frameworks, backing_off=BackingOff(0.05), reporter=self.reporter, recent=self.recent
        )
        slots = slots or BindingSlots()
        self.underway = PodsUnderway(slots, services.progress)
        failed = FailedAttempts(self.queue, self.reporter, self.metrics, self.recent)
        self.binding = BindingCycle(
            frameworks, self.cache, self.queue, slots, self.underway, failed, self.reporter, self.metrics, self.recent
        )
        self.preemption = Preemption(
            client,
            self.binds.check_fence,
            self.underway,
            self.events_of_pods,
            services.nominations,
            self.cache,
            self.metrics,
            Version.parse(version),
        )
        self.loop = SchedulingLoop(
            self.queue,
            frameworks,
            self.cache,
            slots,
            self.binding,
            self.preemption,
            failed,
            self.reporter,
            self.metrics,
        )

    def add(self, name: str, cpu: str = "1", **spec: Any) -> Pod:
        pod = testing.pod(name, {"cpu": cpu}, schedulerName="test", **spec)
        self.queue.add(pod, "test", asyncio.get_running_loop().time())
        return pod

    def place(self, pod: Pod) -> QueuePlace:
        return next(entry.place for entry in self.queue.entries() if entry.uid == pod.uid)

    @property
    def cpu(self) -> int:
        return int(self.cache.table.requested("cpu")[0])

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110  the condition is about many things, an event is about one
                await asyncio.sleep(0.005)

    async def events(self) -> list[tuple[str, str]]:
        await self.outbox.drain()
        return [(request.body["reason"], request.body["note"]) for request in self.script.requests("POST")]

    async def conditions(self) -> list[tuple[str, str]]:
        await self.outbox.drain()
        patches = [patch["conditions"][0] for patch in await self.statuses() if "conditions" in patch]
        return [(patch["reason"], patch["message"]) for patch in patches]

    async def statuses(self) -> list[dict[str, Any]]:
        """What was written of the status of pods."""
        await self.outbox.drain()
        return [request.body["status"] for request in self.script.requests("PATCH") if "status" in request.body]


@contextlib.asynccontextmanager
async def running(
    *plugins: type[Plugin],
    without: Iterable[str] = (),
    version: str = "v1.36.4",
    extenders: Iterable[Mapping[str, Any]] = (),
    slots: BindingSlots | None = None,
) -> AsyncIterator[Scene]:
    """The scene while pods are scheduled, with ``plugins`` beside the default ones, or in the place of some."""
    script = Script()
    async with serving(script) as client:
        scene = Scene(script, client, *plugins, without=without, version=version, extenders=extenders, slots=slots)
        tasks = [asyncio.create_task(scene.loop.run()), asyncio.create_task(scene.outbox.run())]
        try:
            yield scene
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            await scene.underway.finish(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            scene.extenders.close()
