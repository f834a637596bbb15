"""The start of a scheduler process: serve, connect, read the API server's version, load the document, run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial

from scheduler_runtime.app import flags
from scheduler_runtime.app.forced_exit import handle_signals, run_or_exit
from scheduler_runtime.app.scheduler import Clients, Scheduler, SchedulerInputs, build
from scheduler_runtime.app.self_checks import describe_stuck_hook
from scheduler_runtime.app.server_version import explain_fallback, explain_refusal, read_server_version
from scheduler_runtime.app.settings import NotReadyError, SchedulerSettings
from scheduler_runtime.catalog import Target, Version, gate_problems
from scheduler_runtime.component.heartbeat import Heartbeat
from scheduler_runtime.component.https import CertificateError, NotServedError, SuiteError, serve_configured
from scheduler_runtime.config import LeaderElection, LoadReport, Problems
from scheduler_runtime.framework import RegistrationError
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.client import Client, RateLimit
from scheduler_runtime.kube.leader_election import Leadership, LeaseSettings, unique_identity
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.reload.document_sources import DocumentFiles, NoSource, ObjectName, OwnConfigMap
from scheduler_runtime.reload.plan import DocumentText, Plan, Planner, log_values
from scheduler_runtime.reload.plugin_sources import PluginSources, retry_until_available
from scheduler_runtime.reload.reloader import DocumentSource, configz_page
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.serving.pages import Pages
from scheduler_runtime.serving.scrape_gauges import add_document_gauges

logger = logging.getLogger(__name__)


async def run(settings: SchedulerSettings) -> int:
    """Run a scheduler until it is told to stop or loses its lease; return the exit code.

    Raises NotReadyError when it cannot start with these settings.
    """
    stop, metrics = asyncio.Event(), Metrics(settings.hidden_metrics)
    elects = settings.document.leader_election.leader_elect
    pages = Pages(metrics, configz_page(LoadReport(settings.text.hash, ""), {}), elects=elects)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, sighup_action(settings.files, settings.config_map))
    loop.add_signal_handler(signal.SIGUSR2, pages.log_debug_pages)  # the signal of kube-scheduler's cache debugger
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(handle_signals((signal.SIGTERM, signal.SIGINT), stop.set))
        # Probes and metrics are answered from here on, while the API server may be away.
        endpoints = pages.endpoints(settings.kubeconfig, settings.user_agent)
        try:
            port = stack.enter_context(serve_configured(settings.serving, endpoints))
        except (NotServedError, CertificateError, SuiteError) as error:
            raise NotReadyError(str(error)) from error
        if port:
            address = settings.serving.address
            host = f"[{address}]" if ":" in address else address
            logger.info("serves health, metrics and pages", extra={"at": f"https://{host}:{port}"})
        clients = await stack.enter_async_context(connect(settings, metrics))
        version = settings.version or await read_server_version(clients.deciding, stop)
        if version is None:
            return 0
        planner = create_planner(settings, version, clients.deciding)
        pages.set_target(settings.process_info, planner.target)
        config_map = OwnConfigMap(clients.reporting, *settings.config_map) if settings.config_map else None
        plan = await retry_until_available(lambda: first_plan(settings, planner, config_map), stop)
        if plan is None:
            return 0
        scheduler = assemble(settings, plan, planner, clients, metrics, config_map)
        pages.show_scheduler(scheduler)
        add_document_gauges(metrics, scheduler.reloader, _source_name(settings))
        return await scheduler.run(stop)


def sighup_action(files: DocumentFiles | None, config_map: ObjectName | None) -> Callable[[], None]:
    """Return what to do at SIGHUP: read the document again, or log why that changes nothing."""
    if files and not config_map:
        return files.read_now
    why = "a ConfigMap is followed as it changes" if config_map else "there is no file to read again"
    return lambda: logger.info("SIGHUP changes nothing: %s", why)


@contextlib.asynccontextmanager
async def connect(settings: SchedulerSettings, metrics: Metrics) -> AsyncIterator[Clients]:
    """Open both clients until the end of the ``async with``. Raises NotReadyError."""
    connection = settings.document.client_connection
    try:
        logins = [credentials.load(settings.kubeconfig) for _ in range(2)]
    except credentials.CredentialsError as error:
        where = f"{settings.source}: clientConnection.kubeconfig: " if connection.kubeconfig else ""
        raise NotReadyError(f"{where}{error}") from error
    if os.environ.get("DISABLE_HTTP2"):  # an environment variable of kube-scheduler's, too
        logins = [replace(login, http2_tls=None) for login in logins]
    # One log entry for an API server that is away, although both clients notice.
    trouble = LogOnce(logger)

    def create_client(index: int) -> Client:
        rate_limit = RateLimit(connection.qps or 50.0, connection.burst or 100)
        return Client(logins[index], settings.user_agent, rate_limit, metrics.requests, trouble)

    async with create_client(0) as deciding, create_client(1) as reporting:
        yield Clients(deciding, reporting)


def create_planner(settings: SchedulerSettings, version: Version, client: Client) -> Planner:
    """Return the planner for documents of this process. Raises NotReadyError for a version or gates it refuses."""
    if why := explain_refusal(version):
        raise NotReadyError(f"{why}; --kubernetes-version chooses one of these")
    if why := explain_fallback(version):
        logger.warning("%s", why)
    target = Target(version, settings.feature_gates)
    if problems := gate_problems(target):
        raise NotReadyError("\n".join(f"--feature-gates: {problem}" for problem in problems))
    sources = PluginSources(client, settings.namespace, settings.plugins, are_allowed=settings.allows_plugin_sources)
    return Planner(target, sources, lambda text: flags.load_document(text, settings.overrides))


async def first_plan(settings: SchedulerSettings, planner: Planner, config_map: OwnConfigMap | None = None) -> Plan:
    """Return the plan that the process starts with: that of its files, or of ``config_map`` if these are outdated.

    Raises NotReadyError for a document that is not valid, and PluginSourceUnavailableError.
    """
    plan = await planner.plan(settings.text)
    if not isinstance(plan, Problems):
        return plan
    lines = [f"{settings.source}: {problem}" for problem in plan]
    # A kubelet updates files up to a minute after their ConfigMap. Meanwhile they may name code that is not there any
    # more, or that nobody may run any more.
    current = await config_map.read() if config_map else None
    if config_map and isinstance(current, DocumentText) and current != settings.text:
        plan = await planner.plan(current)
        if not isinstance(plan, Problems):
            logger.info("starts with the ConfigMap, which is newer than the files", extra={"refused": lines})
            return plan
        lines = [config_map.locate(str(problem)) for problem in plan]
    raise NotReadyError("\n".join(lines))


def assemble(
    settings: SchedulerSettings,
    plan: Plan,
    planner: Planner,
    clients: Clients,
    metrics: Metrics,
    source: DocumentSource | None = None,
) -> Scheduler:
    """Build the scheduler that starts with ``plan``. Raises NotReadyError.

    New documents come from ``source``, by default from the files of the settings.
    """
    heartbeat = Heartbeat("a decision or a plugin", metrics.observe_loop_lag)
    try:
        lease = lease_settings(settings.document.leader_election)
        election = Leadership(
            lease,
            settings.kubeconfig,
            settings.user_agent,
            health_check=partial(describe_stuck_hook, heartbeat),
            # A loop that is stuck cannot stop what acts as the leader: the process ends.
            report_loss=partial(run_or_exit, because=f"lease {lease.key} is not held any more" if lease else ""),
        )
    except ValueError as error:
        overrides = settings.overrides.describe("leaderElection")
        raise NotReadyError(f"{settings.source}: leaderElection.{error}{overrides}") from error
    inputs = SchedulerInputs(
        settings=settings,
        plan=plan,
        planner=planner,
        source=source or settings.files or NoSource(),
        target=planner.target,
        clients=clients,
        election=election,
        heartbeat=heartbeat,
        metrics=metrics,
    )
    try:
        scheduler = build(inputs)
    except RegistrationError as error:
        raise NotReadyError(f"{settings.source}: {error}") from error
    values = {
        "berth": settings.process_info.release,
        "kubernetes": str(planner.target.version),
        **({"identity": election.identity} if election.identity else {}),
        "follows": _source_name(settings),
        **log_values(plan),
    }
    logger.info("starting", extra=values)
    return scheduler


def lease_settings(config: LeaderElection) -> LeaseSettings | None:
    """Return what the document says of the election, with a new identity; None: there is none. Raises ValueError."""
    if not config.leader_elect:
        return None
    return LeaseSettings(
        namespace=config.resource_namespace,
        name=config.resource_name,
        identity=unique_identity(),
        lease_duration=config.lease_duration_seconds,
        renew_deadline=config.renew_deadline_seconds,
        retry_period=config.retry_period_seconds,
    )


def _source_name(settings: SchedulerSettings) -> str:
    return f"ConfigMap {'/'.join(settings.config_map)}" if settings.config_map else settings.source
