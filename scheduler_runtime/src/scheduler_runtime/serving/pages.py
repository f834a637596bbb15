"""What can be asked of a scheduler over HTTPS, from its start on."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from scheduler_runtime.catalog import Target
from scheduler_runtime.framework import Progress
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.blocking_client import RequestFailedError
from scheduler_runtime.kube.credentials import CredentialsError
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.serving import debug_dumps as dumps
from scheduler_runtime.serving.health_metrics import HealthMetrics
from scheduler_runtime.serving.https import (
    ALPHA,
    BETA,
    JSON,
    PROMETHEUS,
    About,
    Check,
    Endpoints,
    Page,
    ZPage,
    flagz,
    statusz,
)
from scheduler_runtime.serving.leadership_view import LeadershipView
from scheduler_runtime.serving.resource_metrics import resource_metrics
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.objects import Pod

logger = logging.getLogger(__name__)

LISTED = ("/configz", "/debug", "/healthz", "/livez", "/metrics", "/readyz")
"""Where /statusz sends whoever wants to know more."""


class SchedulerView(Protocol):
    """The parts of a process that are looked at."""

    cache: Cache
    pending: SchedulingQueue
    steps: Progress

    @property
    def election(self) -> LeadershipView: ...

    pods: Reflector[Pod]
    is_stopping: bool

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        """What has to be listed before a decision."""
        ...


class Pages:
    """Answers for a process that may not be there yet. Everything here runs in the asker's thread."""

    def __init__(self, metrics: Metrics, configz: Callable[[], Any], *, elects: bool) -> None:
        """``elects`` tells whether there is a leader to be."""
        self.process: SchedulerView | None = None
        self._metrics = metrics
        self._configz = configz
        self._elects = elects
        self._health = HealthMetrics()
        self._zpages: Mapping[str, ZPage] = {}

    def endpoints(self, kubeconfig: str, user_agent: str) -> Endpoints:
        """All of them. What the cache is compared with is read as ``kubeconfig`` says."""
        health: dict[str, Check] = {"loop": self._turns} | ({"leaderElection": self._leads} if self._elects else {})
        live: dict[str, Check] = {"ping": lambda: None, **health}
        ready: Mapping[str, Check] = {**health, "shutdown": self._stopping, "sched-handler-sync": self._synced}

        def cache(query: Mapping[str, list[str]]) -> str:
            return _json(self._compared(kubeconfig, user_agent) if "compare" in query else self._dumped())

        pages = {
            "/configz": Page(JSON, lambda _: _json(self._configz())),
            "/debug/cache": Page(JSON, cache),
            "/debug/pending": Page(JSON, lambda _: _json(self._pending())),
            "/metrics": Page(PROMETHEUS, lambda _: self._metrics.text()),
            "/metrics/resources": Page(PROMETHEUS, lambda _: self._resources()),
            "/metrics/slis": Page(PROMETHEUS, lambda _: self._health.text()),
        }
        return Endpoints(live, ready, pages, self._health.observe, lambda: self._zpages)

    def tell(self, about: About, target: Target) -> None:
        """Have the pages about the process that the kube-scheduler of ``target`` has."""
        versions = (BETA, ALPHA) if target.version.at_least("1.36") else (ALPHA,)
        made = {"/flagz": flagz(about, versions)} if target.enabled("ComponentFlagz") else {}
        if target.enabled("ComponentStatusz"):
            made["/statusz"] = statusz(about, target.minor, (*LISTED, *made), versions)
        self._zpages = made

    def log(self) -> None:
        """Write to the log what the debug pages say."""
        if self.process is None:
            logger.info("there is no cache and no queue yet")
        else:
            dumps.log(self.process.cache, self.process.pending, self.process.steps)

    # Checks.

    def _leads(self) -> str | None:
        return self.process.election.check() if self.process else None

    def _turns(self) -> str | None:
        return self.process.election.pulse.check() if self.process else None

    def _synced(self) -> str | None:
        if self.process is None:
            return "nothing is listed yet: the API server has to tell its version first, and the code of plugins"
        missing = [each.kind.path for each in self.process.reflectors if not each.synced.is_set()]
        return f"not listed yet: {', '.join(missing)}" if missing else None

    def _stopping(self) -> str | None:
        return "the process was told to end" if self.process and self.process.is_stopping else None

    # Pages.

    def _resources(self) -> str:
        """Only the leader's, so that nothing is counted twice."""
        if self.process is None or not self.process.election.is_leader:
            return ""
        return resource_metrics(list(self.process.pods.objects.values()))

    def _dumped(self) -> dict[str, Any]:
        return dumps.dump_of_cache(self.process.cache) if self.process else {}

    def _compared(self, kubeconfig: str, user_agent: str) -> dict[str, Any]:
        if self.process is None:
            return {}
        try:
            return dumps.differences(self.process.cache, credentials.load(kubeconfig), user_agent)
        except (RequestFailedError, CredentialsError) as error:
            return {"error": str(error)}

    def _pending(self) -> dict[str, Any]:
        if self.process is None:
            return {}
        return dumps.dump_of_pending(self.process.pending, time.monotonic(), self.process.steps)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"
