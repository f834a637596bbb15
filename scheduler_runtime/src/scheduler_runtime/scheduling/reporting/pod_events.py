"""Events about pods, in the words and the shape of kube-scheduler: events.k8s.io/v1.

The same event again within six minutes becomes a series, as in client-go's tools/events: the first is written, the
second turns it into a series, and further ones only count until the series is written again.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scheduler_runtime.catalog.masking import masked
from scheduler_runtime.config.berth_options import EventsMode
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.events import event_object_name, micro_time, truncate_note
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.state.objects import Pod

SERIES_SECONDS = 360.0
MAX_SERIES = 4096
"""Of so many series it is remembered that they were written; of the oldest the next event begins a new one."""
MERGE_PATCH = "application/merge-patch+json"


@dataclass(slots=True)
class EventSeries:
    """An event that was written, and how often it has happened."""

    name: str
    last_at: float
    written_at: float
    count: int = 1


class PodEvents:
    """Writes events through an outbox."""

    def __init__(
        self,
        client: Client,
        outbox: Outbox,
        host: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        mode: EventsMode = "All",
    ) -> None:
        """``mode`` is which events are written: all, those about failures, or none."""
        self.mode = mode
        self._client = client
        self._outbox = outbox
        self._host = host
        self._clock = clock
        self._reporters: dict[str, dict[str, str]] = {}
        """The fields that name the reporter, by profile."""
        self._series: OrderedDict[tuple[str, str, str, int], EventSeries] = OrderedDict()
        """By uid, reason, action and the hash of the note, as notes are long; the most recent one at the end."""

    def change_mode(self, mode: EventsMode) -> None:
        """From now on write only the events that ``mode`` allows."""
        self.mode = mode

    def scheduled(self, pod: Pod, node: str) -> None:
        """Write that ``pod`` was bound. It cannot happen again, so no series is looked for."""
        if self.mode != "All":
            return
        self._write(pod, "Normal", "Scheduled", "Binding", f"Successfully assigned {pod.key} to {node}")

    def failed(self, pod: Pod, message: str) -> None:
        """Write why ``pod`` has no node."""
        self.record(pod, "FailedScheduling", message, "Scheduling", warning=True)

    def preempted(self, victim: Pod, preemptor: Pod, note: str) -> None:
        """Write that ``victim`` had to make room for ``preemptor``."""
        if self.mode == "All":
            self._write(victim, "Normal", "Preempted", "Preempting", note, preemptor)

    def record(self, pod: Pod, reason: str, message: str, action: str = "Scheduling", *, warning: bool = False) -> None:
        """Write an event, or count it if the same one was written a short time ago."""
        if self.mode == "None" or (self.mode == "Failures" and not warning):
            return
        note = truncate_note(masked(message))
        key = (pod.metadata.uid, reason, action, hash(note))
        now = self._clock()
        # The series are in the order of their last events, so those that are over come first.
        while self._series and now - next(iter(self._series.values())).last_at > SERIES_SECONDS:
            self._series.popitem(last=False)
        series = self._series.get(key)
        if series is None:
            name = self._write(pod, "Warning" if warning else "Normal", reason, action, note)
            self._series[key] = EventSeries(name, now, now)
            if len(self._series) > MAX_SERIES:
                self._series.popitem(last=False)
            return
        series.count += 1
        series.last_at = now
        self._series.move_to_end(key)
        if series.count == 2 or now - series.written_at >= SERIES_SECONDS:
            series.written_at = now
            self._write_series(pod.metadata.namespace, series)

    def _write(self, pod: Pod, kind: str, reason: str, action: str, note: str, cause: Pod | None = None) -> str:
        """Post an event and return its name. ``cause`` is the pod for which it was done."""
        now = time.time_ns()
        profile = (pod if cause is None else cause).spec.scheduler_name  # the one that decided
        reporter = self._reporters.get(profile)
        if reporter is None:
            instance = f"{profile}-{self._host}"[:128]
            reporter = self._reporters[profile] = {"reportingController": profile, "reportingInstance": instance}
        name = event_object_name(pod.metadata.name, now)
        event: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": pod.metadata.namespace, "name": name},
            "eventTime": micro_time(now),
            **reporter,
            "action": action,
            "reason": reason,
            "type": kind,
            "note": note,
            "regarding": _reference(pod),
        }
        if cause is not None:
            event["related"] = _reference(cause)
        path = f"/apis/events.k8s.io/v1/namespaces/{pod.metadata.namespace}/events"

        async def send() -> None:
            await self._client.request("POST", path, body=event)

        self._outbox.put(("event", name), send)
        return name

    def _write_series(self, namespace: str, series: EventSeries) -> None:
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/{series.name}"

        async def send() -> None:
            # The count as of the moment of sending: more may have happened while this waited.
            body = {"series": {"count": series.count, "lastObservedTime": micro_time(time.time_ns())}}
            await self._client.request("PATCH", path, body=body, content_type=MERGE_PATCH)

        self._outbox.put(("series", series.name), send)


def _reference(pod: Pod) -> dict[str, str]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": pod.metadata.namespace,
        "name": pod.metadata.name,
        "uid": pod.metadata.uid,
        "resourceVersion": pod.metadata.resource_version,
    }
