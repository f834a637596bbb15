"""``/metrics/slis``: how the checks behind the health paths have fared, each time somebody asked."""

from __future__ import annotations

import threading

from scheduler_runtime.scheduling.metrics.exposition import Counter, Gauge, Labels, exposition


class HealthMetrics:
    """Counted by those who answer, who are several."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[Labels, float] = {}
        self._results = Counter("kubernetes_healthchecks_total", "Results of health checks.", "name", "type", "status")

    def observe(self, check: str, path: str, passed: bool) -> None:
        """Note one result."""
        with self._lock:
            self._last[("name", check), ("type", path)] = float(passed)
            self._results.add(check, path, "success" if passed else "error")

    def text(self) -> str:
        """The page."""
        with self._lock:
            last = Gauge("kubernetes_healthcheck", "Whether the check passed the last time.", self._last.copy)
            return exposition([last, self._results])
