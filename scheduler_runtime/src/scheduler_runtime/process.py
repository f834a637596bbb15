"""One scheduler process from its start to its end.

read the version ──► list everything ──► stand for election ──► list again ──► schedule
                         (ready)                                                  │
             SIGTERM: finish binds, release the lease, 0  ◄───────────────────────┤
             lease lost: nothing more is sent, 1          ◄───────────────────────┘
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import json
import logging
import signal
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime import config, credentials
from scheduler_runtime.api import Event, Plugin, declaration_of
from scheduler_runtime.binder import Binder
from scheduler_runtime.binds import FencedBinds
from scheduler_runtime.cache import Cache
from scheduler_runtime.catalog import Target, Version, gate_problems
from scheduler_runtime.client import Client
from scheduler_runtime.conditions import Conditions
from scheduler_runtime.config import Document, EffectiveProfile, Problems
from scheduler_runtime.election import Election
from scheduler_runtime.endpoints import JSON, PROMETHEUS, CertificateError, Endpoints, NotServedError, Page, SuiteError
from scheduler_runtime.events import Recorder
from scheduler_runtime.extras import Extras
from scheduler_runtime.flags import Overrides
from scheduler_runtime.framework import Framework, RegistrationError, Services
from scheduler_runtime.intake import Intake
from scheduler_runtime.leadership import process_name
from scheduler_runtime.listening import Listening, listening
from scheduler_runtime.loop import Loop
from scheduler_runtime.metrics import Metrics
from scheduler_runtime.nominations import Nominations
from scheduler_runtime.objects import Objects, declared_watches
from scheduler_runtime.outbox import Outbox
from scheduler_runtime.pending import Pending, Place
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.preemptions import Preemptions
from scheduler_runtime.server_version import refusal, remark, server_version
from scheduler_runtime.throttle import Throttle
from scheduler_runtime.watches import NODES, Reflector, pods
from scheduler_runtime.wire import Pod, Resizing

logger = logging.getLogger(__name__)

FINISH_SECONDS = 10.0
"""How long bindings under way may take at the end, well within a pod's grace period."""
DRAIN_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a process is started with."""

    source: str
    """Where the document came from, for messages."""
    text: str
    document: Document
    kubeconfig: str
    version: Version | None
    feature_gates: Mapping[str, bool]
    extras: Extras
    listening: Listening
    user_agent: str
    seed: int | None = None
    overrides: Overrides = field(default_factory=Overrides)
    """What the command line says instead of the document, of this one and of those that follow."""
    plugins: Mapping[str, type[Plugin]] = field(default_factory=dict)
    """Plugins that do not come with this build, by the names that profiles use."""


class NotReadyError(Exception):
    """The process cannot do its work as it was started; the message has a line per reason."""


class Process:
    """The parts of a scheduler, wired together."""

    def __init__(
        self,
        settings: Settings,
        profiles: Collection[EffectiveProfile],
        version: Version,
        clients: tuple[Client, Client],
        election: Election,
        metrics: Metrics,
    ) -> None:
        """``clients`` are the one for pods and nodes and the one for what is only told."""
        client, teller = clients
        self.is_stopping = False
        self.election = election
        self.cache = Cache()
        self.outbox = Outbox(is_busy=lambda: self.binder.is_busy)
        self.nominations = Nominations()
        recorder = Recorder(teller, self.outbox, process_name(), events=settings.extras.events)
        conditions = Conditions(teller, self.outbox, self.nominations)
        classes = {**IN_TREE, **settings.plugins}
        self.objects = Objects(declared_watches(profiles, classes), client, self._happened)
        services = self._services(client, recorder, version, metrics)
        frameworks = self._frameworks = {
            profile.scheduler_name: Framework(
                profile, services, version, settings.seed, classes, settings.feature_gates
            )
            for profile in profiles
        }
        self.pending = Pending(
            frameworks,
            first_backoff=settings.document.pod_initial_backoff_seconds,
            longest_backoff=settings.document.pod_max_backoff_seconds,
            on_ready=lambda: self.loop.wake(),
            on_error=lambda pod, error: self.binder.report_error(pod, str(error)),
        )
        self.binder = Binder(frameworks, self.cache, self.pending, recorder, conditions, metrics)
        self.loop = Loop(self.pending, frameworks, self.cache, self.binder, metrics)
        intake = Intake(
            self.cache,
            self.pending,
            self.nominations,
            frameworks,
            on_gone=self.binder.cancel,
            on_settled=conditions.withdraw,
        )
        self.nodes = Reflector(NODES, client, intake.node)
        self.pods = Reflector(pods(Resizing.of(Target(version, settings.feature_gates))), client, intake.pod)
        self.reflectors: tuple[Reflector[Any], ...] = (*self.objects.reflectors, self.nodes, self.pods)
        self._show(metrics)

    def _services(self, client: Client, recorder: Recorder, version: Version, metrics: Metrics) -> Services:
        """What the plugins are lent."""
        binds = FencedBinds(client, self.election.leads_until, self.election.bind_seconds)
        preemptions = Preemptions(
            client,
            binds.check_fence,
            recorder,
            self.nominations,
            metrics,
            call_back=lambda pod, plugin: self.binder.call_back(pod, plugin),
            version=version,
        )
        return Services(
            binds=binds,
            record=lambda pod, reason, message, warning: recorder.record(pod, reason, message, warning=warning),
            activate=self._activate,
            objects=self.objects,
            nominations=self.nominations,
            preemptions=preemptions,
            latest=self._latest,
        )

    async def live(self, stop: asyncio.Event) -> int:
        """Follow, stand for election, schedule; return the exit code."""
        async with asyncio.TaskGroup() as group:
            runs = (self.outbox.run(), *(each.run() for each in self.reflectors))
            around = [group.create_task(run) for run in runs]
            try:
                return await self._until_end(stop)
            finally:
                for task in around:
                    task.cancel()

    async def _until_end(self, stop: asyncio.Event) -> int:
        await first_of(self._synced(), stop.wait())
        if stop.is_set():
            return 0
        gc.collect()
        gc.freeze()  # what was listed stays: the collector need not look at it again
        self.election.start()
        await first_of(self._lead(), stop.wait(), self.election.lost.wait())
        self.is_stopping = stop.is_set()
        if not stop.is_set():  # the elector has said why; nothing begun as the leader may act any more
            await self.binder.finish(0)
            return 1
        await self.binder.finish(FINISH_SECONDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.outbox.drain(), DRAIN_SECONDS)
        await self.election.stop()
        return 0

    async def _synced(self) -> None:
        for each in self.reflectors:
            await each.synced.wait()
        logger.info("synced", extra={"nodes": len(self.nodes.objects), "pods": len(self.pods.objects)})

    async def _lead(self) -> None:
        """Schedule as soon as we lead and know all that was written before we did."""
        await self.election.won.wait()
        await asyncio.gather(*(each.refresh() for each in self.reflectors))
        logger.info("scheduling", extra={"pending": len(self.pending)})
        await self.loop.run()

    def _happened(self, event: Event) -> None:
        for framework in self._frameworks.values():
            framework.changed(event.resource)
        self.pending.happened(event, time.monotonic())

    def _latest(self, pod: Pod) -> Pod | None:
        held = self.cache.held(pod.uid)
        return held.pod if held else None

    def _activate(self, pods: Iterable[Pod]) -> None:
        self.pending.activate([pod.uid for pod in pods], time.monotonic())

    def _show(self, metrics: Metrics) -> None:
        queues = (Place.ACTIVE, Place.BACKOFF, Place.PARKED, Place.GATED)

        def pending() -> dict[tuple[tuple[str, str], ...], float]:
            counts = self.pending.counts()
            return {(("queue", place.value),): counts.get(place, 0) for place in queues}

        metrics.show("scheduler_pending_pods", "Pods that wait for a node, by where they wait.", pending)
        if self.election.name:
            labels = (("name", self.election.name),)
            metrics.show(
                "leader_election_master_status",
                "Whether this process leads.",
                lambda: {labels: float(self.election.is_leader)},
            )


async def run(settings: Settings) -> int:
    """Run a scheduler until it is told to stop or loses its lease; return the exit code.

    Raises NotReadyError when it cannot start as it was asked to.
    """
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    metrics, processes = Metrics(), list[Process]()
    async with contextlib.AsyncExitStack() as stack:
        try:
            stack.enter_context(listening(settings.listening, _endpoints(settings, metrics, processes)))
        except (NotServedError, CertificateError, SuiteError) as error:
            raise NotReadyError(str(error)) from error
        clients = await stack.enter_async_context(connected(settings))
        version = settings.version or await server_version(clients[0], stop)
        if version is None:
            return 0
        if why := refusal(version):
            raise NotReadyError(f"{why}; --kubernetes-version chooses one of these")
        if said := remark(version):
            logger.warning("%s", said)
        processes.append(assemble(settings, version, clients, metrics))
        return await processes[0].live(stop)


@contextlib.asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[tuple[Client, Client]]:
    """Two connection pools, so that what is only told never holds up what is done."""
    connection = settings.document.client_connection
    throttles = [Throttle(connection.qps or 50.0, connection.burst or 100) for _ in range(2)]
    try:
        found = [credentials.load(settings.kubeconfig) for _ in range(2)]
    except credentials.CredentialsError as error:
        raise NotReadyError(str(error)) from error
    async with (
        Client(found[0], settings.user_agent, throttles[0]) as client,
        Client(found[1], settings.user_agent, throttles[1]) as teller,
    ):
        yield client, teller


def assemble(settings: Settings, version: Version, clients: tuple[Client, Client], metrics: Metrics) -> Process:
    """Build the process for one version of Kubernetes. Raises NotReadyError."""
    if settings.document.extenders:
        raise NotReadyError(f"{settings.source}: extenders: this scheduler has no extenders yet; leave them out")
    target = Target(version, settings.feature_gates)
    if refused := gate_problems(target):
        raise NotReadyError("\n".join(f"--feature-gates: {why}" for why in refused))
    declared = {name: declaration_of(plugin) for name, plugin in settings.plugins.items()}
    profiles = config.effective_profiles(settings.document, target, declared)
    if isinstance(profiles, Problems):
        raise NotReadyError("\n".join(f"{settings.source}: {problem}" for problem in profiles))
    try:
        election = Election(settings.document.leader_election, settings.kubeconfig, settings.user_agent)
    except ValueError as error:
        raise NotReadyError(f"{settings.source}: leaderElection.{error}") from error
    try:
        process = Process(settings, profiles, version, clients, election, metrics)
    except RegistrationError as error:
        raise NotReadyError(f"{settings.source}: {error}") from error
    logger.info("starting", extra={"version": str(version), "profiles": [each.scheduler_name for each in profiles]})
    return process


def _endpoints(settings: Settings, metrics: Metrics, processes: list[Process]) -> Endpoints:
    """Answers for a process that may not be there yet."""
    loaded: dict[str, Any] = {
        "hash": hashlib.sha256(settings.text.encode()).hexdigest(),
        "componentconfig": settings.document.model_dump(by_alias=True, mode="json", exclude_none=True),
    }

    def leads() -> str | None:
        return processes[0].election.check() if processes else None

    def synced() -> str | None:
        if not processes:
            return "the API server's version is not known yet"
        missing = [each.kind.path for each in processes[0].reflectors if not each.synced.is_set()]
        return f"not listed yet: {', '.join(missing)}" if missing else None

    def stopping() -> str | None:
        return "the process was told to end" if processes and processes[0].is_stopping else None

    live = {"leaderElection": leads} if settings.document.leader_election.leader_elect else {}
    ready = {**live, "shutdown": stopping, "sched-handler-sync": synced}
    pages = {
        "/metrics": Page(PROMETHEUS, lambda _: metrics.text()),
        "/configz": Page(JSON, lambda _: json.dumps(loaded)),
    }
    return Endpoints(live, ready, pages)


async def first_of(*waits: Any) -> None:
    """Return when one of ``waits`` has ended, and cancel the others. What the one raised is raised."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
