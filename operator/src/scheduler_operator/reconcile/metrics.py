"""The operator's metrics: under the names that controllers of controller-runtime have, else beginning with ``berth_``.

controller-runtime has a queue for each controller. Here both kinds of users' objects share one, and its workers; labels
tell them apart.
"""

import threading
from collections import Counter as Counts
from collections.abc import Callable, Iterator, Mapping

from scheduler_operator.cluster.api import RequestNumbers
from scheduler_operator.cluster.user_objects import UserObjects
from scheduler_operator.reconcile.reconciler import Key
from scheduler_operator.reconcile.render_process import RenderProcesses
from scheduler_operator.reconcile.work_queue import Result, WorkQueue
from scheduler_operator.resources import kinds
from scheduler_runtime.metrics import (
    Counter,
    Gauge,
    Histogram,
    Labels,
    Metric,
    RequestMetrics,
    Samples,
    exponential,
    exposition,
    process_metrics,
)

_QUEUE = exponential(1e-8, 10, 12)
_RECONCILE = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0),
    *(40.0, 50.0, 60.0),
)
_LAG = exponential(0.001, 2, 15)

CONTROLLERS = (kinds.PROFILE.name.lower(), kinds.PLUGIN_CONFIG.name.lower())
OF_QUEUE = ("name", "controller")


class OperatorMetrics:
    """The metrics of one operator process."""

    def __init__(self, host: str) -> None:
        """``host`` is the API server's, with its port."""
        self._gauges: list[Gauge] = []
        self._requests = RequestMetrics()
        self._requests_to_host = self._requests.for_host(host)
        self._counting = threading.Lock()
        self._adds = Counter("workqueue_adds_total", "Objects that came to wait for a worker.", *OF_QUEUE)
        self._retries = Counter("workqueue_retries_total", "Objects that have to be looked at again.", *OF_QUEUE)
        self._waits = Histogram(
            "workqueue_queue_duration_seconds", "How long objects waited for a worker.", _QUEUE, *OF_QUEUE
        )
        self._work = Histogram(
            "workqueue_work_duration_seconds", "How long workers took for an object.", _QUEUE, *OF_QUEUE
        )
        self._results = Counter(
            "controller_runtime_reconcile_total", "Reconciles, by how they ended.", "controller", "result"
        )
        self._errors = Counter(
            "controller_runtime_reconcile_errors_total", "Reconciles that ended with an error.", "controller"
        )
        self._panics = Counter(
            "controller_runtime_reconcile_panics_total",
            "Reconciles that ended with an error which nobody foresaw: please report it.",
            "controller",
        )
        self._seconds = Histogram(
            "controller_runtime_reconcile_time_seconds", "How long reconciles took.", _RECONCILE, "controller"
        )
        self._drift = Counter(
            "berth_drift_repaired_total",
            "Generated objects that others had changed or deleted, and that are as they should be again.",
            "kind",
        )
        self._loop_lag = Histogram(
            "berth_event_loop_lag_seconds", "How late the event loop came to what was due.", _LAG
        )
        # As in controller-runtime: a rate is known from the first one on, because all begin with 0.
        for controller in CONTROLLERS:
            for counter in (self._adds, self._retries):
                counter.of(controller, controller)
            for result in ("success", "requeue", "requeue_after", "error"):
                self._results.of(controller, result)
            for counter in (self._errors, self._panics):
                counter.of(controller)
        for kind in kinds.GENERATED:
            self._drift.of(kind.name)

    # The work queue: these are called in the event loop.

    def count_added(self, key: Key) -> None:
        """Count an object that came to wait."""
        self._adds.add(*_queue_of(key))

    def observe_wait(self, key: Key, seconds: float) -> None:
        """Measure how long an object has waited for a worker."""
        self._waits.observe(seconds, *_queue_of(key))

    def observe_work(self, key: Key, result: Result, seconds: float) -> None:
        """Measure a reconcile, by how it ended."""
        (controller, _) = labels = _queue_of(key)
        self._work.observe(seconds, *labels)
        self._seconds.observe(seconds, controller)
        if result != "success":
            self._retries.add(*labels)
        if result == "panic":
            self._panics.add(controller)
        if result in ("error", "panic"):
            self._errors.add(controller)
        self._results.add(controller, "error" if result == "panic" else result)

    # Other parts.

    def count_drift(self, kind: str) -> None:
        """Count a generated object that is as it should be again."""
        self._drift.add(kind)

    def observe_loop_lag(self, seconds: float) -> None:
        """Measure how late the event loop came to what was due."""
        self._loop_lag.observe(seconds)

    def count_request(self, code: int, verb: str, numbers: RequestNumbers | None = None) -> None:
        """Count a request that ended, as ``HostRequests.count``. May be called from any thread."""
        with self._counting:
            self._requests_to_host.count(code, verb, numbers)

    # Export

    def show(self, name: str, text: str, read: Callable[[], Samples], kind: str = "gauge") -> None:
        """Export what ``read`` returns, which is called at each scrape, from the scraper's thread."""
        self._gauges.append(Gauge(name, text, read, kind))

    def text(self) -> str:
        """Return everything in Prometheus's text format."""
        return exposition(self.all())

    def all(self) -> Iterator[Metric]:
        """Return every metric."""
        # Every counter and histogram above, so that none can be declared and not exported.
        for metric in vars(self).values():
            if isinstance(metric, Counter | Histogram):
                yield metric
        yield from self._gauges
        yield from self._requests.metrics()
        yield from process_metrics()


def _queue_of(key: Key) -> tuple[str, str]:
    controller = key.kind.lower()
    return controller, controller


def add_gauges(
    metrics: OperatorMetrics, work: WorkQueue[Key], workers: int, users: UserObjects, rendering: RenderProcesses
) -> None:
    """Add the gauges of the operator's parts to ``metrics``."""

    def single(number: float) -> Samples:
        return {(): number}

    def by_queue(numbers: Mapping[str, float]) -> Samples:
        return {(("name", name), ("controller", name)): numbers.get(name, 0.0) for name in CONTROLLERS}

    def by_controller(numbers: Mapping[str, float]) -> Samples:
        return {(("controller", name),): numbers.get(name, 0.0) for name in CONTROLLERS}

    def running() -> dict[str, list[float]]:
        seconds: dict[str, list[float]] = {}
        for key, took in work.state().running.items():
            seconds.setdefault(key.kind.lower(), []).append(took)
        return seconds

    def counts(keys: list[Key]) -> Counts[str]:
        return Counts(key.kind.lower() for key in keys)

    for name, text, read in (
        ("workqueue_depth", "Objects that wait for a worker.", lambda: by_queue(counts(work.state().waiting))),
        (
            "workqueue_unfinished_work_seconds",
            "How long workers have taken so far for the objects that they have now, all together.",
            lambda: by_queue({name: sum(seconds) for name, seconds in running().items()}),
        ),
        (
            "workqueue_longest_running_processor_seconds",
            "How long a worker has taken so far for the object that it has now, at most.",
            lambda: by_queue({name: max(seconds) for name, seconds in running().items()}),
        ),
        (
            "controller_runtime_active_workers",
            "Workers that reconcile now.",
            lambda: by_controller({name: len(seconds) for name, seconds in running().items()}),
        ),
        (
            "controller_runtime_max_concurrent_reconciles",
            "Workers that there are, for all controllers together.",
            lambda: by_controller(dict.fromkeys(CONTROLLERS, workers)),
        ),
        (
            "berth_resting_objects",
            "Objects that wait for their next attempt.",
            lambda: by_controller(counts(work.state().resting)),
        ),
        (
            "berth_slow_objects",
            "Objects that others go before, as they take long.",
            lambda: single(len(work.state().slow)),
        ),
        ("berth_profiles", "Profiles, by the condition Ready and its reason.", lambda: profiles_by_reason(users)),
        (
            "berth_unreadable_objects",
            "Objects of users that the API server cannot read back.",
            lambda: unreadable_objects(users),
        ),
    ):
        metrics.show(name, text, read)
    text = "Specs that took too much time or memory to render."
    metrics.show("berth_unrenderable_total", text, lambda: single(rendering.failed), "counter")


def unreadable_objects(users: UserObjects) -> Samples:
    """Return how many objects of each kind the API server cannot read back."""
    of_users = (kinds.PROFILE, kinds.PLUGIN_CONFIG)
    return {(("kind", kind.name),): len(users.unlistable.get(kind, ())) for kind in of_users}


def profiles_by_reason(users: UserObjects) -> Samples:
    """Return how many profiles there are with each state of Ready; one that was not looked at yet has no reason."""
    counts = Counts[Labels]()
    for stored in list(users.profiles.values()):
        conditions = stored.relations.status.get("conditions", ())
        ready = [(condition["status"], condition["reason"]) for condition in conditions if condition["type"] == "Ready"]
        status, reason = ready[0] if ready else ("Unknown", "")
        counts[("ready", status), ("reason", reason)] += 1
    return dict(counts)
