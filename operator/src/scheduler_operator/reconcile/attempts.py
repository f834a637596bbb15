"""Attempts to reconcile: errors are contained here, and the log and the metrics are told what happened."""

import logging
import time
from collections.abc import Callable
from typing import Protocol

from scheduler_operator.cluster.api import RequestError
from scheduler_operator.cluster.changes import record_changes
from scheduler_operator.reconcile.reconciler import Key, Reconciler
from scheduler_operator.reconcile.work_queue import Result

logger = logging.getLogger(__name__)


class DriftMetrics(Protocol):
    """Counts objects that others had changed or deleted."""

    def count_drift(self, kind: str) -> None:
        """Count one, which is as it should be again."""
        ...


class Attempts:
    """Reconciles keys for the work queue."""

    def __init__(
        self, reconciler: Reconciler, metrics: DriftMetrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reconciler = reconciler
        self._metrics = metrics
        self._clock = clock
        self._last_errors: dict[Key, str] = {}

    async def attempt(self, key: Key) -> Result:
        """Reconcile ``key`` and return how that ended; log what was changed, with a line for all of it."""
        if not self._reconciler.is_ready:
            return "requeue"
        began = self._clock()
        with record_changes() as changes:
            result = await self._reconcile(key)
        if changes:
            seconds = round(self._clock() - began, 3)
            logger.info("reconciled", extra={"object": "/".join(key), **changes.summary(), "seconds": seconds})
            for kind in changes.drift():
                self._metrics.count_drift(kind)
        return result

    async def _reconcile(self, key: Key) -> Result:
        """Reconcile ``key``; log an error once while it stays the same."""
        try:
            is_settled = await self._reconciler.reconcile(key)
        except RequestError as error:
            if self._last_errors.get(key) != str(error):
                logger.warning("%s %s: trying again later: %s", key.kind, key.name, error)
            self._last_errors[key] = str(error)
            return "error"
        except Exception:
            logger.exception("%s %s: trying again later", key.kind, key.name)
            return "panic"
        if self._last_errors.pop(key, None):
            logger.info("%s %s: reconciled after all", key.kind, key.name)
        return "success" if is_settled else "requeue"
