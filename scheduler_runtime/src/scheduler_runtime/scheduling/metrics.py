"""The scheduler's own metrics, with the names, labels and buckets that kube-scheduler has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import NamedTuple, cast

from scheduler_runtime.api import Action, Event, Pod
from scheduler_runtime.metrics import (
    Counter,
    Gauge,
    Histogram,
    Metric,
    PlainCounter,
    RequestMetrics,
    Samples,
    Series,
    exponential,
    exposition,
    process_metrics,
)

_ATTEMPT = exponential(0.001, 2, 15)
_POINT = exponential(0.0001, 2, 12)
_PLUGIN = exponential(0.00001, 1.5, 20)
_SLI = exponential(0.01, 2, 20)
MOST_ATTEMPTS = 15


class Attempt(NamedTuple):
    """The start of an attempt to place a pod, for the metrics of its end."""

    began: float
    """When it began, by time.monotonic."""
    number: int = 1
    """The number of attempts of the pod, this one included."""
    waits_since: float = 0.0
    """When the pod first became active."""
    after_flush: bool = False
    """Whether nothing but the time had woken it."""


class Metrics:
    """The metrics of one scheduler process: they outlive documents that are loaded anew."""

    def __init__(self, without: Collection[str] = ()) -> None:
        """``without`` are the names of metrics that are not exported."""
        self.requests = RequestMetrics()
        self._without = frozenset(without)
        self._gauges: list[Gauge] = []
        of_attempt = ("result", "profile")
        self._attempts = Counter(
            "scheduler_schedule_attempts_total", "Attempts to place pods, by how they ended.", *of_attempt
        )
        self._attempt_seconds = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "How long attempts took, from taking the pod to its being bound or not.",
            _ATTEMPT,
            *of_attempt,
        )
        self._algorithm_seconds = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds", "How long deciding took.", _ATTEMPT
        )
        self._sli_seconds = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "How long bound pods had waited since they first became active, by the number of their attempts.",
            _SLI,
            "attempts",
        )
        self._attempts_needed = Histogram(
            "scheduler_pod_scheduling_attempts", "How many attempts bound pods needed.", exponential(1, 2, 5)
        )
        self._after_flush = Counter(
            "scheduler_pod_scheduled_after_flush_total",
            "Bound pods that nothing but the time had woken: some plugin's events or hints may lack something.",
        )
        self._point_seconds = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "How long all plugins of an extension point took together.",
            _POINT,
            *("extension_point", "status", "profile"),
        )
        self._plugin_seconds = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "How long one plugin took at an extension point, for one decision in ten.",
            _PLUGIN,
            *("plugin", "extension_point", "status"),
        )
        self._evaluations = Counter(
            "scheduler_plugin_evaluation_total",
            "How often a plugin was asked about all nodes at once; what is kept of earlier answers is not asked for.",
            *("plugin", "extension_point", "profile"),
        )
        self._incoming = Counter(
            "scheduler_queue_incoming_pods_total",
            "Pods that came to wait, by where and because of what.",
            "queue",
            "event",
        )
        self._permit_seconds = Histogram(
            "scheduler_permit_wait_duration_seconds", "How long pods waited for a permit.", _ATTEMPT, "result"
        )
        self._slow_attempts = Counter(
            "berth_slow_attempts_total",
            "Attempts that took more CPU than a pod may take before it has to let others go first.",
            "profile",
        )
        self._loop_lag = Histogram(
            "berth_event_loop_lag_seconds",
            "How late the event loop came to what was due.",
            _ATTEMPT,
        )
        self._preemption_attempts = Counter(
            "scheduler_preemption_attempts_total", "How often a pod that fits nowhere looked for others to preempt."
        )
        self._victims = Histogram(
            "scheduler_preemption_victims", "How many pods one preemption takes off a node.", exponential(1, 2, 7)
        )
        self._preemptions = Counter(
            "scheduler_preemption_goroutines_execution_total", "Preemptions that were carried out, by result.", "result"
        )
        self._preemption_seconds = Histogram(
            "scheduler_preemption_goroutines_duration_seconds", "How long carrying them out took.", _SLI, "result"
        )

        # The series that every pod needs, so that their labels are not made again for each one.
        self.decision_seconds = self._algorithm_seconds.of()
        """How long each decision took, whatever its outcome."""
        self._attempts_needed_series = self._attempts_needed.of()
        self._sli_series: dict[int, Series] = {}
        self._attempt_series: dict[tuple[str, str], tuple[PlainCounter, Series]] = {}

    # Attempts

    def observe_scheduled(self, profile: str, attempt: Attempt, now: float) -> None:
        """Measure the attempt after which a pod is bound, and how long the pod waited in all."""
        self.observe_attempt("scheduled", profile, now - attempt.began)
        self._attempts_needed_series.observe(attempt.number)
        number = min(attempt.number, MOST_ATTEMPTS)
        waits = self._sli_series.get(number)
        if waits is None:
            label = f"{number}+" if number == MOST_ATTEMPTS else str(number)
            waits = self._sli_series[number] = self._sli_seconds.of(label)
        waits.observe(now - attempt.waits_since)
        if attempt.after_flush:
            self._after_flush.add()

    def observe_attempt(self, result: str, profile: str, seconds: float) -> None:
        """Measure an attempt, by how it ended: scheduled, unschedulable or error."""
        ends = self._attempt_series.get((result, profile))
        if ends is None:
            of = (result, profile)
            ends = self._attempt_series[of] = self._attempts.of(*of), self._attempt_seconds.of(*of)
            self._slow_attempts.of(profile)  # shown as 0 until there is one
        ends[0].number += 1
        ends[1].observe(seconds)

    def count_slow_attempt(self, profile: str) -> None:
        """Count an attempt that took so long that pods like this one yield to others."""
        self._slow_attempts.of(profile).number += 1

    def observe_loop_lag(self, seconds: float) -> None:
        """Measure how late the event loop came to what was due."""
        self._loop_lag.of().observe(seconds)

    # The parts of an attempt. Callers keep the series: they observe at every decision.

    def point(self, point: str, status: str, profile: str) -> Series:
        """Return the series for the duration of an extension point."""
        return self._point_seconds.of(point, status, profile)

    def plugin(self, plugin: str, point: str, status: str) -> Series:
        """Return the series for the duration of a plugin at an extension point."""
        return self._plugin_seconds.of(plugin, point, status)

    def evaluations(self, plugin: str, point: str, profile: str) -> PlainCounter:
        """Return the counter of the calls of a plugin at an extension point."""
        return self._evaluations.of(plugin, point, profile)

    def observe_permit_wait(self, result: str, seconds: float) -> None:
        """Measure how long a pod waited for its permit."""
        self._permit_seconds.of(result).observe(seconds)

    # The queue

    def pod_queued(self, queue: str, cause: Event | str) -> None:
        """Count a pod that came to wait in ``queue``: because of an event, or of a cause by upstream's name.

        A pod that only changed its place within the queue has no cause, and is not counted.
        """
        if cause:
            self._incoming.of(queue, cause if isinstance(cause, str) else event_name(cause)).number += 1

    # Preemption

    def count_preemption_attempt(self) -> None:
        """Count a search for pods to preempt."""
        self._preemption_attempts.of().number += 1

    def observe_victims(self, victims: int) -> None:
        """Measure how many pods are to make room for one."""
        self._victims.of().observe(victims)

    def observe_preemption(self, result: str, seconds: float) -> None:
        """Measure the work that made room for a pod, by how it ended: success or error."""
        self._preemptions.of(result).number += 1
        self._preemption_seconds.of(result).observe(seconds)

    # Export

    def show(self, name: str, text: str, read: Callable[[], Samples], kind: str = "gauge") -> None:
        """Export what ``read`` returns, which is called at each scrape, from the scraper's thread."""
        # A metric may be shown anew, and there must be only one of a name.
        self._gauges = [gauge for gauge in self._gauges if gauge.name != name]
        self._gauges.append(Gauge(name, text, read, kind))

    def text(self) -> str:
        """Return everything in Prometheus's text format."""
        return exposition(self._all(), self._without)

    def _all(self) -> Iterator[Metric]:
        # Every counter and histogram above, so that none can be declared and not exported.
        for metric in vars(self).values():
            if isinstance(metric, Counter | Histogram):
                yield metric
        yield from self._gauges
        yield from self.requests.metrics()
        yield from process_metrics()


def event_name(event: Event) -> str:
    """Return upstream's name of an event, such as ``NodeAdd`` or ``AssignedPodDelete``."""
    resource = event.resource
    if resource == "Pod":
        pod = cast("Pod | None", event.new or event.old)
        resource = "AssignedPod" if pod is not None and pod.spec.node_name else "UnschedulablePod"
    return f"{resource}{_action_name(event.action)}"


@cache
def _action_name(action: Action) -> str:
    """One action by its name; of several the first, because upstream makes one event of each."""
    if action in (Action.UPDATE, Action.ALL):
        return str(action.name).title()
    first = Action.UPDATE
    for single in Action:
        if single.value & action.value:
            first = single
            break
    return str(first.name).title().replace("_", "")
