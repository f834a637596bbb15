"""The endpoints of a scheduler process: health checks, metrics, configuration and debug pages.

They are served from the start of the process, before there is a scheduler.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any, Protocol

from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.masking import masked
from scheduler_runtime.component.health_metrics import HealthMetrics
from scheduler_runtime.component.https import (
    ALPHA,
    BETA,
    JSON,
    PROMETHEUS,
    Check,
    Endpoints,
    Page,
    ProcessInfo,
    ZPage,
    flagz,
    statusz,
)
from scheduler_runtime.framework import Progress
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.blocking_client import RequestFailedError
from scheduler_runtime.kube.credentials import CredentialsError
from scheduler_runtime.kube.leader_election import Leadership
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.serving import debug_dumps
from scheduler_runtime.serving.metrics_pages import resource_metrics
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.objects import Pod

logger = logging.getLogger(__name__)

PATHS = ("/configz", "/debug", "/healthz", "/livez", "/metrics", "/readyz")
"""The paths that /statusz lists, beside those of the zpages."""


class HealthView(Protocol):
    """Something whose health can be checked."""

    def check(self) -> str | None:
        """Return the problem, None if there is none."""
        ...


class SchedulerView(Protocol):
    """The parts of a scheduler that the pages show."""

    cache: Cache
    queue: SchedulingQueue
    progress: Progress
    pods: Reflector[Pod]
    election: Leadership
    is_stopping: bool

    @property
    def heartbeat(self) -> HealthView: ...

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        """The reflectors that must have listed before the first decision."""
        ...

    def configz_page(self) -> Mapping[str, Any]:
        """Return the content of /configz."""
        ...


class Pages:
    """Health checks and pages of a process. All of them are called in the threads of the HTTPS server."""

    def __init__(self, metrics: Metrics, configz: Mapping[str, Any], *, elects: bool) -> None:
        """``configz`` is the content of /configz until there is a scheduler; ``elects``: leader election is on."""
        self._scheduler: SchedulerView | None = None
        self._metrics = metrics
        self._configz = configz
        self._elects = elects
        self._health = HealthMetrics()
        self._zpages: Mapping[str, ZPage] = {}

    def endpoints(self, kubeconfig: str, user_agent: str) -> Endpoints:
        """Return all endpoints. /debug/cache?compare lists objects with the credentials of ``kubeconfig``."""
        health: dict[str, Check] = {"loop": self.check_loop}
        if self._elects:
            health["leaderElection"] = self.check_election
        live: dict[str, Check] = {"ping": lambda: None, **health}
        ready = {**health, "shutdown": self.check_shutdown, "sched-handler-sync": self.check_synced}

        def cache(query: Mapping[str, list[str]]) -> str:
            return _json(self.compare_page(kubeconfig, user_agent) if "compare" in query else self.cache_page())

        pages = {
            "/configz": Page(JSON, lambda _: _json(self.configz_page())),
            "/debug/cache": Page(JSON, cache),
            "/debug/pending": Page(JSON, lambda _: _json(self.queue_page())),
            "/metrics": Page(PROMETHEUS, lambda _: self._metrics.text()),
            "/metrics/resources": Page(PROMETHEUS, lambda _: self.resource_metrics_page()),
            "/metrics/slis": Page(PROMETHEUS, lambda _: self._health.text()),
        }
        return Endpoints(live, ready, pages, self._health.observe, lambda: self._zpages)

    def set_target(self, info: ProcessInfo, target: Target) -> None:
        """Serve /statusz and /flagz if the feature gates of ``target`` have them on; before this call both are 404."""
        versions = (BETA, ALPHA) if target.version.at_least("1.36") else (ALPHA,)
        zpages = {"/flagz": flagz(info, versions)} if target.enabled("ComponentFlagz") else {}
        if target.enabled("ComponentStatusz"):
            zpages["/statusz"] = statusz(info, target.minor, (*PATHS, *zpages), versions)
        self._zpages = zpages

    def show_scheduler(self, scheduler: SchedulerView) -> None:
        """Show ``scheduler`` from now on; before this call the process is alive, but not ready."""
        self._scheduler = scheduler

    def log_debug_pages(self) -> None:
        """Write the content of the debug pages to the log."""
        if self._scheduler is None:
            logger.info("there is no cache and no queue yet")
        else:
            debug_dumps.log_dumps(self._scheduler.cache, self._scheduler.queue, self._scheduler.progress)

    # Health checks: each returns the problem, None if there is none. Before there is a scheduler there is no problem
    # but that nothing is listed: the process waits for the API server, and restarting it would not help.

    def check_loop(self) -> str | None:
        """Check that the event loop is not stuck."""
        return self._scheduler.heartbeat.check() if self._scheduler else None

    def check_election(self) -> str | None:
        """Check that a leader which should have stopped has done so."""
        return self._scheduler.election.check() if self._scheduler else None

    def check_shutdown(self) -> str | None:
        """Check that the process is not shutting down."""
        return "the process is shutting down" if self._scheduler and self._scheduler.is_stopping else None

    def check_synced(self) -> str | None:
        """Check that everything is listed that a decision needs."""
        if self._scheduler is None:
            return "nothing is listed yet: the API server's version and the code of plugins are read first"
        missing = [reflector.kind.path for reflector in self._scheduler.reflectors if not reflector.synced.is_set()]
        return f"not listed yet: {', '.join(missing)}" if missing else None

    # Pages.

    def configz_page(self) -> Mapping[str, Any]:
        """Return the content of /configz."""
        return self._scheduler.configz_page() if self._scheduler else self._configz

    def resource_metrics_page(self) -> str:
        """Return the text of /metrics/resources."""
        # Only the leader has content: a collector that scrapes all replicas would count each pod several times.
        if self._scheduler is None or not self._scheduler.election.is_leader:
            return ""
        return resource_metrics(list(self._scheduler.pods.objects.values()))

    def cache_page(self) -> dict[str, Any]:
        """Return the content of /debug/cache."""
        scheduler = self._scheduler
        return debug_dumps.dump_cache(scheduler.cache, scheduler.reflectors) if scheduler else {}

    def compare_page(self, kubeconfig: str, user_agent: str) -> dict[str, Any]:
        """Return the content of /debug/cache?compare."""
        if self._scheduler is None:
            return {}
        try:
            return debug_dumps.compare_with_api(self._scheduler.cache, credentials.load(kubeconfig), user_agent)
        except (RequestFailedError, CredentialsError) as error:
            return {"error": str(error)}

    def queue_page(self) -> dict[str, Any]:
        """Return the content of /debug/pending."""
        if self._scheduler is None:
            return {}
        return debug_dumps.dump_queue(self._scheduler.queue, time.monotonic(), self._scheduler.progress)


def _json(value: Any) -> str:
    return masked(json.dumps(value, indent=1)) + "\n"
