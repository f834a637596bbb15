"""The operator's process: serve probes, wait for the CRDs, take part in the election, and work while leading.

    starting ──► ready, standing by ──► leading ──► ended
                 (both CRDs exist)      (kopf and the workers run)

The process ends when it loses its Lease, and when kopf gives up. Whatever starts it again loses nothing: all state is
in the cluster.
"""

import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

from scheduler_operator.app import settings
from scheduler_operator.app.endpoints import Readiness, operator_endpoints
from scheduler_operator.app.settings import Settings
from scheduler_operator.cluster.api import ApiConnection, RequestError
from scheduler_operator.cluster.apply import Applier
from scheduler_operator.cluster.credentials import Credentials
from scheduler_operator.cluster.generated_objects import GeneratedObjects
from scheduler_operator.cluster.objects import ClusterObjects
from scheduler_operator.cluster.plugin_code import watch_plugin_code
from scheduler_operator.cluster.reader_bindings import watch_reader_bindings
from scheduler_operator.cluster.user_objects import UserObjects
from scheduler_operator.kopf_seam import handlers
from scheduler_operator.kopf_seam.http_session import KopfSession, ObjectFeed
from scheduler_operator.kopf_seam.watch_stream import InterruptedStreams
from scheduler_operator.reconcile.attempts import Attempts
from scheduler_operator.reconcile.events import ProfileEvents
from scheduler_operator.reconcile.metrics import OperatorMetrics, add_gauges
from scheduler_operator.reconcile.reconciler import Key, Reconciler
from scheduler_operator.reconcile.render_process import RenderProcesses
from scheduler_operator.reconcile.rollout import Rollouts
from scheduler_operator.reconcile.work_queue import WorkQueue
from scheduler_operator.resources.kinds import PROFILE, ResourceKind
from scheduler_runtime.component.heartbeat import Heartbeat
from scheduler_runtime.component.https import CertificateError, NotServedError, serve_configured
from scheduler_runtime.component.log_format import set_up_logging
from scheduler_runtime.kube.credentials import CredentialsError
from scheduler_runtime.kube.leader_election import Leadership
from scheduler_runtime.kube.retry import run_until
from scheduler_runtime.metrics import Labels

logger = logging.getLogger("scheduler_operator")

RETRY_SECONDS = 2.0
RELEASE_SECONDS = 15.0
"""How long the release of the Lease may take at the end."""
CRD_CHECK_SECONDS = 15.0
RENEWALS_SECONDS = 1.0
"""How often it is looked which leaders are silent."""
RELIST_GATHERING_SECONDS = 0.5
"""When one kind is listed again, the others often are, too, for the same reason: one resync serves them all."""

UNREADABLE, CRDS = "unreadable", "crds"
"""What remarks of ``/readyz`` are about."""

T = TypeVar("T")


class OperatorProcess:
    """One run of the operator."""

    def __init__(self, options: Settings) -> None:
        """Raises CredentialsError."""
        self.settings = options
        self.credentials = Credentials(options.kubeconfig)
        self.metrics = OperatorMetrics(urlsplit(self.credentials.configuration.host).netloc)
        self.api = ApiConnection(self.credentials, options.user_agent, self.metrics.count_request)
        self.users = UserObjects()
        self.generated = GeneratedObjects()
        self.cluster = ClusterObjects(self.api, options.release.namespace, self.users)
        self.rendering = RenderProcesses()
        self.work: WorkQueue[Key] = WorkQueue(self.metrics)
        self.stop = asyncio.Event()
        self.relisted = asyncio.Event()
        self.unlistable: set[ResourceKind] = set()
        self.list_failed = asyncio.Event()
        self.waiting_for = ""
        self.heartbeat = Heartbeat("a reconcile", self.metrics.observe_loop_lag)
        self.leadership = Leadership(
            options.lease, options.kubeconfig, options.user_agent, health_check=self.heartbeat.check
        )
        self.readiness = Readiness()
        add_gauges(self.metrics, self.work, options.workers, self.users, self.rendering)
        leads: Labels = (("name", options.lease.name),)
        self.metrics.show(
            "leader_election_master_status",
            "Whether this process leads.",
            lambda: {leads: float(self.leadership.is_leader)},
        )

    async def run(self) -> int:
        """Run until told to stop, or until leadership is lost; return the exit code.

        Raises NotServedError and CertificateError.
        """
        self.handle_signals()
        checks = self.heartbeat.check, self.leadership.check
        endpoints = operator_endpoints(self.readiness, *checks, self.metrics.text)
        with serve_configured(self.settings.serving, endpoints):
            beating = asyncio.create_task(self.heartbeat.run(), name="heartbeat")
            try:
                return await self.stand_for_election()
            finally:
                beating.cancel()

    async def stand_for_election(self) -> int:
        """Wait for the CRDs, take part in the election, and work while leading; return the exit code."""
        if not await self.unless_stopped(self.wait_for_crds()):
            return 0
        self.readiness.become_ready()
        self.leadership.start()
        crds = asyncio.create_task(self.check_crds(), name="CRDs")
        try:
            if not await self.unless_stopped(self.leadership.won.wait()):
                return 0
            code = await self.lead()
            crds.cancel()
            # Requests under way end before the Lease is released: none may arrive when another one leads.
            await self.api.finish()
            return code
        finally:
            crds.cancel()
            await self.rendering.close()
            await self.leadership.stop(release=True, seconds=RELEASE_SECONDS)

    async def lead(self) -> int:
        """Work until told to stop (0), or until that becomes impossible (1)."""
        lost = asyncio.create_task(self.leadership.lost.wait(), name="leadership")
        work = asyncio.create_task(self.operate(), name="operate")
        stop = asyncio.create_task(self.stop.wait(), name="stop")
        await asyncio.wait((lost, work, stop), return_when=asyncio.FIRST_COMPLETED)
        for task in (lost, work, stop):
            task.cancel()
        # Gathered after the cancels: the tasks have to end before their connections are closed.
        (is_lost, error, _) = await asyncio.gather(lost, work, stop, return_exceptions=True)
        if is_lost is True:
            logger.error("leadership is lost: ending, so that another process can lead")
        if isinstance(error, Exception):
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            logger.error("cannot go on watching, ending to start anew: %s", error)
        return 0 if self.stop.is_set() and is_lost is not True else 1

    async def operate(self) -> None:
        """Watch and reconcile until cancelled."""
        events = ProfileEvents(self.cluster, self.settings.lease.identity)
        version = await self.retry(self.cluster.version)
        await self.own_lease_by_deployment()
        release, namespace = self.settings.release, self.settings.release.namespace
        applier = Applier(self.api, namespace, self.generated, time.monotonic)
        rollouts = Rollouts(applier, self.generated, events, namespace, time.monotonic)
        reconciler = Reconciler(self.cluster, events, release, version, self.work, self.rendering, rollouts)
        feed = ObjectFeed(self.users, self.generated, self.note_list, self.note_unlistable)
        user_agent, count = self.settings.user_agent, self.metrics.count_request
        session = KopfSession(self.credentials, user_agent, InterruptedStreams(), feed, namespace, count)
        memo = handlers.KopfMemo(self.work.add, session)
        async with asyncio.TaskGroup() as group:
            attempts = Attempts(reconciler, self.metrics)
            group.create_task(self.work.run(attempts.attempt, self.settings.workers), name="workers")
            group.create_task(self.resync(reconciler), name="resync")
            group.create_task(self.list_around(reconciler), name="lists around what cannot be read")
            group.create_task(self.watch_reader_bindings(), name="bindings in kube-system")
            group.create_task(self.watch_renewals(), name="renewals of Leases")
            if release.allows_sources:
                kubeconfig, queue = self.settings.kubeconfig, reconciler.queue_users_of_code
                watch_code = watch_plugin_code(kubeconfig, user_agent, namespace, self.users.code, queue)
                group.create_task(watch_code, name="code of plugins")
            # kopf replaces our signal handlers when it starts, so they are set again when it is ready.
            await handlers.watch(memo, namespace, on_ready=self.handle_signals)

    async def watch_reader_bindings(self) -> None:
        """Watch the generated objects outside our namespace, where kopf does not look."""
        await watch_reader_bindings(
            self.settings.kubeconfig,
            self.settings.user_agent,
            self.generated,
            lambda profile: self.work.add(Key(PROFILE.name, profile)),
        )

    async def watch_renewals(self) -> None:
        """Have a look at each profile whose leader does not renew its Lease any more: that is no event of a watch."""
        while True:
            await asyncio.sleep(RENEWALS_SECONDS)
            for profile in self.generated.renewals.newly_silent():
                self.work.add(Key(PROFILE.name, profile))

    async def own_lease_by_deployment(self) -> None:
        """Make our Deployment the owner of our Lease, so that both are deleted together; log it if that fails."""
        name = self.settings.lease.name
        try:
            await self.cluster.own_lease_by_deployment(name)
        except RequestError as error:  # no reason to keep profiles waiting
            logger.warning("the Lease %s will stay when Berth is uninstalled: %s", name, error)

    async def resync(self, reconciler: Reconciler) -> None:
        """Reconcile everything periodically, and whenever kopf listed a kind again.

        kopf reports no deletion that happened before such a list.
        """
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.settings.resync_seconds):
                    await self.relisted.wait()
                    await asyncio.sleep(RELIST_GATHERING_SECONDS)
            self.relisted.clear()
            await self.retry(reconciler.resync)
            self.waiting_for = ""

    def note_list(self) -> None:
        """Note that kopf has listed a kind: all of it can be read."""
        self.update_remark()
        self.relisted.set()

    def note_unlistable(self, kind: ResourceKind) -> None:
        """Note that kopf could not list a kind, because the API server cannot read one of its objects."""
        self.unlistable.add(kind)
        self.list_failed.set()

    async def list_around(self, reconciler: Reconciler) -> None:
        """Take in what can be read of a kind that the API server cannot list, each time that kopf has failed to."""
        while True:
            await self.list_failed.wait()
            self.list_failed.clear()
            while self.unlistable:
                kind = self.unlistable.pop()
                try:
                    await self.cluster.list_around(kind)
                except RequestError as error:
                    logger.warning("cannot list what can be read of %s: %s", kind.plural, error)
                    continue
                self.update_remark()
                await self.retry(reconciler.resync)

    def update_remark(self) -> None:
        """Say on ``/readyz`` what cannot be read now, and in the log when that changes."""
        named = "; ".join(f"{of.name} {', '.join(names)}" for of, names in self.users.unlistable.items() if names)
        remark = f"the API server cannot read {named}, so it can neither list nor watch that kind" if named else ""
        before = self.readiness.remarks.get(UNREADABLE, "")
        if remark and remark != before:
            logger.error("%s; all others are looked at again and again; remove it from etcd", remark)
        if before and not remark:
            logger.info("the API server can list and watch all profiles and PluginConfigs again")
        self.readiness.remarks[UNREADABLE] = remark

    async def wait_for_crds(self) -> None:
        """Wait until the API server serves both of our kinds."""
        while absent := await self.retry(self.cluster.absent_kinds):
            self.report_waiting(f"CRD {' and '.join(absent)} missing; apply the files in crds/")
            await asyncio.sleep(RETRY_SECONDS)

    async def check_crds(self) -> None:
        """Look at our CRDs again and again, and report what is wrong with them: here, in the log, and in statuses."""
        while True:
            before = self.cluster.crds.remark
            remark = await self.cluster.crds.check()
            self.readiness.remarks[CRDS] = remark
            if remark != before:
                logger.log(logging.ERROR if remark else logging.INFO, "%s", remark or "the CRDs are as they should be")
                self.relisted.set()  # every status has the remark, or has it no longer
            await asyncio.sleep(CRD_CHECK_SECONDS)

    async def retry(self, request: Callable[[], Awaitable[T]]) -> T:
        """Repeat ``request`` until the API server answers it."""
        while True:
            try:
                return await request()
            except RequestError as error:
                self.report_waiting(str(error))
                await asyncio.sleep(RETRY_SECONDS)

    def report_waiting(self, reason: str) -> None:
        """Log what the process waits for, once while it stays the same, and show it at ``/readyz``."""
        if self.waiting_for != reason:
            logger.warning("waiting: %s", reason)
        self.waiting_for = reason
        self.readiness.wait_for(reason)

    async def unless_stopped(self, wait: Coroutine[Any, Any, Any]) -> bool:
        """Await ``wait`` and return True; return False when the process is told to stop before."""
        await run_until(self.stop, wait)
        return not self.stop.is_set()

    def handle_signals(self) -> None:
        """Stop in an orderly way on SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop.set)


def quieten_libraries(verbosity: int) -> None:
    """Keep out of the log what libraries write there, or most of it."""
    level = logging.DEBUG if verbosity >= 4 else logging.INFO
    for noisy in ("kopf.objects", "kubernetes", "urllib3", "asyncio", "aiohttp"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING) if verbosity < 6 else level)
    if verbosity < 6:  # InterruptedStreams reports once what kopf logs for each kind and attempt
        logging.getLogger("kopf").setLevel(logging.CRITICAL)


async def run(options: Settings) -> int:
    """Run the operator; return the exit code."""
    try:
        return await OperatorProcess(options).run()
    except (CredentialsError, NotServedError, CertificateError) as error:
        logger.error("%s", error)
        return 1


def main() -> None:
    """Entry point of ``berth-operator``."""
    options = settings.parse(sys.argv[1:])
    set_up_logging(logging.DEBUG if options.verbosity >= 4 else logging.INFO, as_json=options.release.logs_json)
    quieten_libraries(options.verbosity)
    sys.exit(asyncio.run(run(options)))
