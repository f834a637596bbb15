"""Plugins that a case can order about: fail, reject, wait, and count how often they are asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import numpy as np

from scheduler_runtime.api import (
    ALLOW,
    SKIP,
    Action,
    Answer,
    ClusterEvent,
    Nomination,
    QueueEntry,
    Reject,
    Restrict,
    Wait,
)
from tests.integration.upstream.support import CasePlugin, Object

LONG = 30.0
"""Seconds that a permit waits where the case does not wait for its end."""


class QueueSort(CasePlugin):
    name = "queuesort-plugin"
    by_priority = False

    def sort_key(self, entry: QueueEntry) -> Any:
        return (-entry.pod.spec.priority if self.by_priority else 0, entry.added_at)


class PreEnqueue(CasePlugin):
    name = "enqueue-plugin"

    def pre_enqueue(self, pod: Any) -> Reject | None:
        self.calls.add(pod.name)
        return Reject.pod("not ready for scheduling") if self.reject else None


class PreFilter(CasePlugin):
    name = "prefilter-plugin"
    only: tuple[str, ...] = ()

    def pre_filter(self, pod: Any, nodes: Any, cycle: Any) -> Any:
        self.calls.add(pod.name)
        self.fail_if_configured(pod.name)
        if self.reject:
            return Reject.pod(f"reject pod {pod.name}", resolvable=True)
        return Restrict(None, frozenset(self.only)) if self.only else None


class Filter(CasePlugin):
    name = "filter-plugin"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent("Pod", Action.DELETE),)

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterable[Reject]:
        self.calls.add(pod.name, int(np.count_nonzero(nodes.feasible)))
        self.fail_if_configured(pod.name)
        if self.reject:
            yield Reject(True, f"reject pod {pod.name}")


class PostFilter(CasePlugin):
    """Asks the filters about every node once more."""

    name = "postfilter-plugin"
    end = False
    """Say that nothing can help, so that nobody else is asked."""

    def post_filter(self, pod: Any, nodes: Any, verdicts: Any, cycle: Any) -> Any:
        self.calls.add(pod.name)
        for row in range(len(nodes)):
            with self.handle.trial(row) as trial:
                trial.rejections()
        if self.end:
            return Reject.pod(f"injecting unresolvable for pod {pod.name}")
        return [f"injecting unschedulable for pod {pod.name}"] if self.reject else Nomination(nodes.node(0).name)


class PreScore(CasePlugin):
    name = "prescore-plugin"

    def pre_score(self, pod: Any, nodes: Any, cycle: Any) -> Any:
        self.calls.add(pod.name)
        self.fail_if_configured(pod.name)


class Score(CasePlugin):
    """The first node gets the most, every other one the least."""

    name = "score-plugin"

    def score(self, pod: Any, nodes: Any, state: Any) -> Any:
        self.calls.add(pod.name, int(np.count_nonzero(nodes.feasible)))
        self.fail_if_configured(pod.name)
        first = int(nodes.feasible.argmax())
        self.world.log.append(nodes.node(first).name)
        scores = np.ones(len(nodes), np.int64)
        scores[first] = 100
        return scores


class ScoreWithNormalize(CasePlugin):
    name = "score-with-normalize-plugin"

    def score(self, pod: Any, nodes: Any, state: Any) -> Any:
        self.calls.add("score")
        return np.full(len(nodes), 10)

    def normalize_score(self, pod: Any, nodes: Any, scores: Any, state: Any) -> Any:
        self.calls.add("normalize")
        return scores


class Reserve(CasePlugin):
    name = "reserve-plugin"

    def reserve(self, pod: Any, node: str, state: Any) -> Reject | None:
        self.calls.add("reserve")
        self.fail_if_configured(pod.name)
        return None

    def unreserve(self, pod: Any, node: str, state: Any) -> None:
        self.world.log.append(self.name)
        self.calls.add("unreserve")


class PreBind(CasePlugin):
    name = "prebind-plugin"
    succeeds_on_retry = False

    async def pre_bind(self, pod: Any, node: str, state: Any) -> Any:
        is_retry = pod.uid in self.calls.log
        self.calls.add(pod.uid)
        if is_retry and self.succeeds_on_retry:
            return None
        self.fail_if_configured(pod.name)
        return Reject.pod(f"reject pod {pod.name}", resolvable=True) if self.reject else None


class Gate(CasePlugin):
    """Keeps a pod out of the queue once the plugin of ``after`` was asked about it."""

    name = "preenqueue-gate-plugin"
    after: ClassVar[type[CasePlugin]]

    def pre_enqueue(self, pod: Any) -> Reject | None:
        return Reject.pod("was tried already") if pod.uid in self.after.calls.log else None


class Bind(CasePlugin):
    """Binds, and says so in an annotation; passes the pod on; or fails."""

    name = "bind-plugin"
    answers: Literal["binds", "skips", "fails"] = "binds"

    async def bind(self, pod: Any, node: str, state: Any) -> Literal[Answer.SKIP] | None:
        self.world.log.append(self.name)
        self.calls.add(pod.name)
        if self.answers == "skips":
            return SKIP
        if self.answers == "fails":
            raise RuntimeError("failed to bind")
        metadata = {"name": pod.name, "uid": pod.uid, "annotations": {"bindPluginName": self.name}}
        binding: Object = {"metadata": metadata, "target": {"kind": "Node", "name": node}}
        await self.world.create(f"{self.world.path(pod.name)}/binding", binding)
        return None


class PostBind(CasePlugin):
    name = "postbind-plugin"

    def post_bind(self, pod: Any, node: str, state: Any) -> None:
        self.world.log.append(self.name)
        self.calls.add(pod.name)


class Permit(CasePlugin):
    """Allows, fails, rejects, waits; or holds the first pod until the second allows or rejects it."""

    name = "permit-plugin"
    seconds = 0.0
    """How long it waits, if at all."""
    second: Literal["", "allows", "rejects"] = ""
    waiting_pod = ""
    deciding_pod = ""

    def permit(self, pod: Any, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        self.calls.add(pod.name)
        self.fail_if_configured(pod.name)
        if self.reject:
            return Reject.pod(f"reject pod {pod.name}", resolvable=True)
        if self.seconds:
            return Wait(self.seconds)
        return self.decide_together(pod.name) if self.second else ALLOW

    def decide_together(self, name: str) -> Literal[Answer.ALLOW] | Reject | Wait:
        kind = type(self)
        if kind.waiting_pod in ("", name):
            kind.waiting_pod = name
            return Wait(LONG)
        kind.deciding_pod = name
        if self.second == "allows":
            self.allow_all()
            return ALLOW
        self.reject_all()
        return Reject.pod(f"reject pod {name}", resolvable=True)

    def allow_all(self) -> None:
        for waiting in self.handle.waiting_pods():
            waiting.allow(self.name)

    def reject_all(self) -> None:
        for waiting in self.handle.waiting_pods():
            waiting.reject(self.name, f"reject pod {waiting.pod.name}")


class PermitAndReserve(Permit):
    """Hears of it when the pod it holds does not go on."""

    def unreserve(self, pod: Any, node: str, state: Any) -> None:
        self.calls.add(f"unreserve {pod.name}")
