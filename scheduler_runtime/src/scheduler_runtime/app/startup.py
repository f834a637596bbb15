"""How a scheduler process comes to run: it serves, connects, learns the version, and goes by its document."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

from scheduler_runtime.app import flags
from scheduler_runtime.app.forced_exit import handle_signals
from scheduler_runtime.app.leader import Election
from scheduler_runtime.app.scheduler import Scheduler, SchedulerInputs
from scheduler_runtime.app.server_version import refusal, remark, server_version
from scheduler_runtime.app.settings import NotReadyError, Settings
from scheduler_runtime.catalog import Target, Version, gate_problems
from scheduler_runtime.config import LoadReport, Problems
from scheduler_runtime.framework import RegistrationError
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.rate_limit import RateLimit
from scheduler_runtime.reload.document_sources import DocumentFiles, NoSource, ObjectName, OwnConfigMap
from scheduler_runtime.reload.planner import Planner, log_values
from scheduler_runtime.reload.plugin_sources import PluginSources, retry_until_available
from scheduler_runtime.reload.pod_condition import ConfigCondition
from scheduler_runtime.reload.reloader import DocumentSource, Reloader, configz
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.plan import Plan
from scheduler_runtime.serving.https import CertificateError, NotServedError, SuiteError, serve_configured
from scheduler_runtime.serving.pages import Pages
from scheduler_runtime.serving.scrape_gauges import add_document_gauges

logger = logging.getLogger(__name__)


async def run(settings: Settings) -> int:
    """Run a scheduler until it is told to stop or loses its lease; return the exit code.

    Raises NotReadyError when it cannot start as it was asked to.
    """
    stop = asyncio.Event()
    metrics, changes = Metrics(settings.without_metrics), list[Reloader]()

    def loaded() -> dict[str, Any]:
        return changes[0].configz() if changes else configz(LoadReport(settings.text.hash, ""), {})

    pages = Pages(metrics, loaded, elects=settings.document.leader_election.leader_elect)
    _hear(settings, pages)
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(handle_signals((signal.SIGTERM, signal.SIGINT), stop.set))
        _serve(stack, settings, pages)
        client, teller = clients = await stack.enter_async_context(connected(settings, metrics))
        version = settings.version or await server_version(client, stop)
        if version is None:
            return 0
        _check_version(version)
        planner = planner_of(settings, version, client)
        pages.set_target(settings.process_info, Target(version, settings.feature_gates))
        plan = await retry_until_available(lambda: first_plan(settings, planner), stop)
        if plan is None:
            return 0
        process = assemble(settings, plan, version, clients, metrics)
        pages.show_scheduler(process)
        own_pod = ConfigCondition(teller, *settings.pod) if settings.pod else None
        changes.append(Reloader(plan, (process,), planner, own_pod.set if own_pod else _ignore))
        add_document_gauges(metrics, changes[0], _source(settings))
        others = [changes[0].run(_follows(settings, teller)), *([own_pod.run()] if own_pod else [])]
        return await process.live(stop, *others)


def _hear(settings: Settings, pages: Pages) -> None:
    """Act on signals, those that end the process excepted."""
    signals: Mapping[int, Callable[[], None]] = {
        signal.SIGHUP: look(settings.files, settings.config_map),
        signal.SIGUSR2: pages.log_debug_pages,
    }
    for number, act in signals.items():
        asyncio.get_running_loop().add_signal_handler(number, act)


def look(files: DocumentFiles | None, config_map: ObjectName | None) -> Callable[[], None]:
    """What to do when somebody wants the document to be looked at now."""
    if files and not config_map:
        return files.read_now
    why = "a ConfigMap is followed as it changes" if config_map else "there is no file to read again"
    return lambda: logger.info("SIGHUP changes nothing: %s", why)


def _serve(stack: contextlib.AsyncExitStack, settings: Settings, pages: Pages) -> None:
    """Serve ``pages`` until the end of ``stack``. Raises NotReadyError."""
    try:
        asked = settings.serving
        port = stack.enter_context(serve_configured(asked, pages.endpoints(settings.kubeconfig, settings.user_agent)))
    except (NotServedError, CertificateError, SuiteError) as error:
        raise NotReadyError(str(error)) from error
    if port:
        host = f"[{asked.address}]" if ":" in asked.address else asked.address
        logger.info("serves health, metrics and pages", extra={"at": f"https://{host}:{port}"})


def _check_version(version: Version) -> None:
    """Say what there is to say of a version. Raises NotReadyError for one that is refused."""
    if why := refusal(version):
        raise NotReadyError(f"{why}; --kubernetes-version chooses one of these")
    if said := remark(version):
        logger.warning("%s", said)


async def first_plan(settings: Settings, planner: Planner) -> Plan:
    """What the process is to do at first. Raises NotReadyError, and NotNowError when that cannot be said yet."""
    plan = await planner.plan(settings.text)
    if isinstance(plan, Problems):
        raise NotReadyError("\n".join(f"{settings.source}: {problem}" for problem in plan))
    return plan


def planner_of(settings: Settings, version: Version, client: Client) -> Planner:
    """What understands documents for this process. Raises NotReadyError."""
    target = Target(version, settings.feature_gates)
    if refused := gate_problems(target):
        raise NotReadyError("\n".join(f"--feature-gates: {why}" for why in refused))
    sources = PluginSources(client, settings.namespace, settings.plugins)
    return Planner(target, sources, lambda text: flags.load(text, settings.overrides))


def _follows(settings: Settings, client: Client) -> DocumentSource:
    """Where new documents come from."""
    if settings.config_map:
        return OwnConfigMap(client, *settings.config_map)
    return settings.files or NoSource()


def _ignore(*_: object) -> None:
    """Nobody has to be told."""


@contextlib.asynccontextmanager
async def connected(settings: Settings, metrics: Metrics) -> AsyncIterator[tuple[Client, Client]]:
    """Two connection pools, so that what is only told does not hold up what is done."""
    connection = settings.document.client_connection
    throttles = [RateLimit(connection.qps or 50.0, connection.burst or 100) for _ in range(2)]
    try:
        found = [credentials.load(settings.kubeconfig) for _ in range(2)]
    except credentials.CredentialsError as error:
        named = f"{settings.source}: clientConnection.kubeconfig: " if connection.kubeconfig else ""
        raise NotReadyError(f"{named}{error}") from error
    if os.environ.get("DISABLE_HTTP2"):  # what kube-scheduler goes by, too
        found = [replace(each, http2_tls=None) for each in found]
    counted, out_of_reach = metrics.requests, LogOnce(logger)
    async with (
        Client(found[0], settings.user_agent, throttles[0], counted, out_of_reach) as client,
        Client(found[1], settings.user_agent, throttles[1], counted, out_of_reach) as teller,
    ):
        yield client, teller


def _started_as(settings: Settings, plan: Plan, version: Version, process: Scheduler) -> dict[str, Any]:
    """What it is, as whom it decides, and by which document, for the log."""
    identity = process.election.identity
    return {
        "berth": settings.process_info.release,
        "kubernetes": str(version),
        **({"identity": identity} if identity else {}),
        "follows": _source(settings),
        **log_values(plan),
    }


def _source(settings: Settings) -> str:
    """Where new documents come from, for people."""
    return f"ConfigMap {'/'.join(settings.config_map)}" if settings.config_map else settings.source


def assemble(
    settings: Settings, plan: Plan, version: Version, clients: tuple[Client, Client], metrics: Metrics
) -> Scheduler:
    """Build the process that goes by ``plan``. Raises NotReadyError."""
    try:
        election = Election(settings.document.leader_election, settings.kubeconfig, settings.user_agent)
    except ValueError as error:
        involved = settings.overrides.involved("leaderElection")
        raise NotReadyError(f"{settings.source}: leaderElection.{error}{involved}") from error
    client, teller = clients
    target = Target(version, settings.feature_gates)
    given = SchedulerInputs(
        settings=settings,
        plan=plan,
        target=target,
        client=client,
        teller=teller,
        election=election,
        metrics=metrics,
    )
    try:
        process = Scheduler(given)
    except RegistrationError as error:
        raise NotReadyError(f"{settings.source}: {error}") from error
    logger.info("starting", extra=_started_as(settings, plan, version, process))
    return process
