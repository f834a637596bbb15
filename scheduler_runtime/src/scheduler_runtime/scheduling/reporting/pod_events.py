"""Events about pods, in the words and the shape of kube-scheduler: events.k8s.io/v1.

The same event again within six minutes becomes a series: the first is written, the second turns it
into a series, and further ones only count until the series is written again.
"""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from scheduler_runtime.config.berth_options import EventsMode
from scheduler_runtime.kube.client import Client
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.state.objects import Pod

NOTE_BYTES = 1024
NAME_LENGTH = 253
SERIES_SECONDS = 360.0
SERIES_KEPT = 4096
MERGE_PATCH = "application/merge-patch+json"


@dataclass(slots=True)
class Series:
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
        events: EventsMode = "All",
    ) -> None:
        """``events`` says which are written; it may be changed."""
        self.events = events
        self._client = client
        self._outbox = outbox
        self._host = host
        self._clock = clock
        self._reporters: dict[str, dict[str, str]] = {}
        """Who speaks, by profile."""
        self._series: OrderedDict[tuple[str, str, str, int], Series] = OrderedDict()
        """By what was said of which pod, what was said last at the end; of long notes only the hash is kept."""

    def scheduled(self, pod: Pod, node: str) -> None:
        """Say that ``pod`` was bound."""
        if self.events != "All":
            return
        self._write(pod, "Normal", "Scheduled", "Binding", f"Successfully assigned {pod.key} to {node}")

    def failed(self, pod: Pod, message: str) -> None:
        """Say why ``pod`` has no node."""
        self.record(pod, "FailedScheduling", message, "Scheduling", warning=True)

    def preempted(self, victim: Pod, preemptor: Pod, note: str) -> None:
        """Say of ``victim`` that it had to make room for ``preemptor``."""
        if self.events == "All":
            self._write(victim, "Normal", "Preempted", "Preempting", note, preemptor)

    def record(self, pod: Pod, reason: str, message: str, action: str = "Scheduling", *, warning: bool = False) -> None:
        """Write an event, or count it if it was written a short time ago."""
        if self.events == "None" or (self.events == "Failures" and not warning):
            return
        note = cut(message)
        key = (pod.uid, reason, action, hash(note))
        now = self._clock()
        self._forget(now)
        series = self._series.get(key)
        if series is None:
            name = self._write(pod, "Warning" if warning else "Normal", reason, action, note)
            self._series[key] = Series(name, now, now)
            if len(self._series) > SERIES_KEPT:
                self._series.popitem(last=False)
            return
        series.count += 1
        series.last_at = now
        self._series.move_to_end(key)
        if series.count == 2 or now - series.written_at >= SERIES_SECONDS:
            series.written_at = now
            self._write_series(pod.namespace, series)

    def _forget(self, now: float) -> None:
        """Drop the series that are over."""
        while self._series and now - next(iter(self._series.values())).last_at > SERIES_SECONDS:
            self._series.popitem(last=False)

    def _write(self, pod: Pod, kind: str, reason: str, action: str, note: str, cause: Pod | None = None) -> str:
        """Post an event without looking for a series; return its name. ``cause`` is the pod it was done for."""
        event = self._event(pod, kind, reason, action, note)
        name: str = event["metadata"]["name"]
        if cause is not None:
            event |= {"related": _reference(cause), **self._reporter(cause)}
        path = f"/apis/events.k8s.io/v1/namespaces/{pod.namespace}/events"

        async def send() -> None:
            await self._client.request("POST", path, body=event)

        self._outbox.put(("event", name), send)
        return name

    def _write_series(self, namespace: str, series: Series) -> None:
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/{series.name}"

        async def send() -> None:
            body = {"series": {"count": series.count, "lastObservedTime": micro_time(time.time_ns())}}
            await self._client.request("PATCH", path, body=body, content_type=MERGE_PATCH)

        self._outbox.put(("series", series.name), send)

    def _event(self, pod: Pod, kind: str, reason: str, action: str, note: str) -> dict[str, Any]:
        now = time.time_ns()
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": pod.namespace, "name": event_name(pod.name, now)},
            "eventTime": micro_time(now),
            **self._reporter(pod),
            "action": action,
            "reason": reason,
            "type": kind,
            "note": note,
            "regarding": _reference(pod),
        }

    def _reporter(self, pod: Pod) -> dict[str, str]:
        """Who speaks: the profile that decides about ``pod``."""
        profile = pod.spec.scheduler_name
        known = self._reporters.get(profile)
        if known is None:
            instance = f"{profile}-{self._host}"[:128]
            known = self._reporters[profile] = {"reportingController": profile, "reportingInstance": instance}
        return known


def _reference(pod: Pod) -> dict[str, str]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "resourceVersion": pod.metadata.resource_version,
    }


def cut(note: str) -> str:
    """Shorten ``note`` to what an event can hold, as upstream does, and to what can be sent at all."""
    note = sendable(note)
    encoded = note.encode()
    if len(encoded) <= NOTE_BYTES:
        return note
    suffix = " ..."
    return encoded[: NOTE_BYTES - len(suffix)].decode(errors="ignore") + suffix


def sendable(text: str) -> str:
    """Put a question mark in place of what is no character, such as half of one in the name of a file."""
    return text.encode(errors="replace").decode()


def event_name(regarding: str, nanoseconds: int) -> str:
    """Name an event after its object and its instant, as upstream does, unless that gets too long."""
    name = f"{regarding}.{nanoseconds:x}"
    return name if len(name) <= NAME_LENGTH else str(uuid.uuid4())


def micro_time(nanoseconds: int) -> str:
    """An instant as Kubernetes writes it where microseconds matter."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


@lru_cache(4)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
