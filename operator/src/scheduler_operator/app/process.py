"""The operator's process: serve probes, wait for the CRDs, stand for election, and work while leading.

    starting ──► ready, standing by ──► leading ──► ended
                 (both CRDs are there)   (kopf and the workers run)

Losing the Lease ends the process, and so does kopf should it give up: whatever starts it again loses nothing.
"""

import asyncio
import contextlib
import logging
import resource
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from scheduler_operator.app import settings
from scheduler_operator.app.endpoints import Health, Metrics, serving
from scheduler_operator.app.leader import Election
from scheduler_operator.app.settings import Settings
from scheduler_operator.cluster.api import Api, ApiError
from scheduler_operator.cluster.credentials import Credentials, CredentialsError
from scheduler_operator.cluster.objects import Cluster
from scheduler_operator.kopf_seam import handlers
from scheduler_operator.kopf_seam.http_session import KopfSession
from scheduler_operator.kopf_seam.interruption_log import InterruptionLog
from scheduler_operator.reconcile.events import Recorder
from scheduler_operator.reconcile.reconciler import Key, Operator
from scheduler_operator.reconcile.work_queue import WorkQueue
from scheduler_runtime.kube import leader_election as leadership

logger = logging.getLogger("scheduler_operator")

RETRY_SECONDS = 2.0
TOGETHER_SECONDS = 0.5
"""Within which all kinds are listed, when one is because of something that befell all of them."""

T = TypeVar("T")


class Process:
    """One run of the operator."""

    def __init__(self, chosen: Settings) -> None:
        """Raises CredentialsError."""
        self.settings = chosen
        self.credentials = Credentials(chosen.kubeconfig)
        self.api = Api(self.credentials, chosen.user_agent)
        self.cluster = Cluster(self.api, chosen.release.namespace)
        self.work: WorkQueue[Key] = WorkQueue()
        self.health = Health()
        self.stop = asyncio.Event()
        self.listed = asyncio.Event()
        self.waiting_for = ""
        self.election = Election(chosen.lease, chosen.kubeconfig, chosen.user_agent)
        self.health.not_alive = self.election.elector.check

    async def run(self) -> int:
        """Run until told to stop, or until leadership is lost; the exit code."""
        self.listen_to_signals()
        async with serving(self.health, self.metrics, self.settings.bind_address, self.settings.port):
            if not await self.before_stop(self.kinds_are_served()):
                return 0
            self.health.not_ready = ""
            async with self.election.standing():
                if not await self.before_stop(self.election.won.wait()):
                    return 0
                code = await self.lead()
                await self.api.finish()
                return code

    async def lead(self) -> int:
        """Work until told to stop (0), or until something makes that impossible (1)."""
        over = asyncio.create_task(self.election.over.wait(), name="election")
        working = asyncio.create_task(self.operate(), name="operate")
        stopped = asyncio.create_task(self.stop.wait(), name="stop")
        await asyncio.wait((over, working, stopped), return_when=asyncio.FIRST_COMPLETED)
        for task in (over, working, stopped):
            task.cancel()
        (lost, trouble, _) = await asyncio.gather(over, working, stopped, return_exceptions=True)
        if lost is True:
            logger.error("leadership is lost: ending, so that another process can lead")
        if isinstance(trouble, Exception):
            logger.error("cannot go on watching, ending to start anew: %s", _innermost(trouble))
        return 0 if self.stop.is_set() and lost is not True else 1

    async def operate(self) -> None:
        """Watch and work, for ever."""
        recorder = Recorder(self.cluster, self.settings.lease.identity)
        version = await self.retried(self.cluster.version)
        await self.have_lease_go_with_us()
        operator = Operator(self.cluster, recorder, self.settings.release, version, self.work)
        exchanges = KopfSession(self.credentials, self.settings.user_agent, InterruptionLog(), self.listed.set)
        seam = handlers.KopfMemo(self.work.add, exchanges)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.work.run(operator.attempt, self.settings.workers), name="workers")
            group.create_task(self.resync(operator), name="resync")
            await handlers.watch(seam, self.settings.release.namespace, on_ready=self.listen_to_signals)

    async def have_lease_go_with_us(self) -> None:
        """Tie our Lease to our Deployment, or say that it stays: nobody's profile has to wait for that."""
        try:
            await self.cluster.let_go_with_us(settings.LEASE)
        except ApiError as error:
            logger.warning("the Lease %s will stay when Berth is uninstalled: %s", settings.LEASE, error)

    async def resync(self, operator: Operator) -> None:
        """Look at everything once in a while, and when a kind was listed: what was deleted before is in no event."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.settings.resync_seconds):
                    await self.listed.wait()
                    await asyncio.sleep(TOGETHER_SECONDS)
            self.listed.clear()
            await self.retried(operator.resync)
            self.waiting_for = ""

    async def kinds_are_served(self) -> None:
        """Wait until the API server knows both of our kinds."""
        while absent := await self.retried(self.cluster.absent_kinds):
            self.wait_for(f"CRD {' and '.join(absent)} missing; apply the files in crds/")
            await asyncio.sleep(RETRY_SECONDS)

    async def retried(self, request: Callable[[], Awaitable[T]]) -> T:
        """Ask the API server until it answers."""
        while True:
            try:
                return await request()
            except ApiError as error:
                self.wait_for(str(error))
                await asyncio.sleep(RETRY_SECONDS)

    def wait_for(self, what: str) -> None:
        """Say what we wait for, once."""
        if self.waiting_for != what:
            logger.warning("waiting: %s", what)
        self.waiting_for = what
        if self.health.not_ready:
            self.health.not_ready = what

    async def before_stop(self, coming: Coroutine[Any, Any, Any]) -> bool:
        """Wait for ``coming``, or until told to stop; whether it came."""
        wanted, stopped = asyncio.create_task(coming), asyncio.create_task(self.stop.wait())
        await asyncio.wait((wanted, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if wanted.done():
            wanted.result()
            return True
        wanted.cancel()
        return False

    def listen_to_signals(self) -> None:
        """End in good order on SIGTERM and SIGINT. kopf takes the signals for itself when it starts."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop.set)

    def metrics(self) -> Metrics:
        """What ``/metrics`` shows."""
        work = self.work.statistics()
        leads = self.election.elector.is_leader
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            f'leader_election_master_status{{name="{settings.LEASE}"}}': leads,
            'workqueue_depth{name="profiles"}': work.waiting,
            'workqueue_running{name="profiles"}': work.running,
            'workqueue_resting{name="profiles"}': work.resting,
            'workqueue_adds_total{name="profiles"}': work.added,
            'workqueue_retries_total{name="profiles"}': work.failed,
            "process_cpu_seconds_total": usage.ru_utime + usage.ru_stime,
            "process_max_resident_memory_bytes": usage.ru_maxrss * 1024,
        }


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def set_up_logging(verbosity: int) -> None:
    """Log to standard error, one line for each record."""
    level = logging.DEBUG if verbosity >= 4 else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("kopf.objects", "kubernetes", "urllib3", "asyncio", "aiohttp"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING) if verbosity < 6 else level)
    if verbosity < 6:  # `interruptions` says once what kopf says for each kind and attempt, and at its end in pages
        logging.getLogger("kopf").setLevel(logging.CRITICAL)


async def run(chosen: Settings) -> int:
    """Run the operator; the exit code."""
    try:
        process = Process(chosen)
    except (CredentialsError, leadership.CredentialsError) as error:
        logger.error("%s", error)
        return 1
    return await process.run()


def main() -> None:
    """Entry point of ``berth-operator``."""
    chosen = settings.parse(sys.argv[1:])
    set_up_logging(chosen.verbosity)
    sys.exit(asyncio.run(run(chosen)))
