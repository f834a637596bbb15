"""The page ``/metrics/slis``: results of health checks."""

from __future__ import annotations

import threading

from scheduler_runtime.metrics import Counter, Gauge, Labels, exposition


class HealthMetrics:
    """Results of health checks, counted by the threads that answer probes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: dict[Labels, float] = {}
        self._results = Counter("kubernetes_healthchecks_total", "Results of health checks.", "name", "type", "status")

    def observe(self, check: str, path: str, passed: bool) -> None:
        """Count one result."""
        with self._lock:
            self._latest[("name", check), ("type", path)] = float(passed)
            self._results.add(check, path, "success" if passed else "error")

    def text(self) -> str:
        """Return the text of ``/metrics/slis``."""
        with self._lock:
            latest = Gauge("kubernetes_healthcheck", "Whether the check passed the last time.", self._latest.copy)
            return exposition([latest, self._results])
