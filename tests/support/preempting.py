"""Pods of several priorities on small nodes, and who has to leave for whom."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler_runtime import testing
from scheduler_runtime.api import Plugin, Pod
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.framework import Framework, Placed, PluginServices, Unschedulable
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.state import objects as wire
from scheduler_runtime.state.claimed_victims import ClaimedVictims
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.testing.builders import effective_profile

NEGATIVE, LOW, MID, HIGH, VERY_HIGH = -100, 0, 100, 1000, 10000
SMALL = {"cpu": "100m", "memory": "100"}
MEDIUM = {"cpu": "200m", "memory": "200"}
LARGE = {"cpu": "300m", "memory": "300"}
VERY_LARGE = {"cpu": "500m", "memory": "500"}
"""As much as a node has."""


def pod(
    name: str,
    priority: int = LOW,
    requests: Mapping[str, str] | None = None,
    *,
    node: str = "",
    labels: Mapping[str, str] | None = None,
    started: str = "",
    status: Mapping[str, Any] | None = None,
    deleted: bool = False,
    **spec: Any,
) -> Pod:
    """A pod; ``node`` is where it runs."""
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": dict(labels or {})}
    container = {"name": "main", "resources": {"requests": dict(requests or {})}}
    manifest = {
        "metadata": metadata | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}),
        "spec": {"priority": priority, "nodeName": node, "schedulerName": "test", "containers": [container], **spec},
        "status": {**({"startTime": started} if started else {}), **(status or {})},
    }
    return msgspec.convert(manifest, Pod)


def budget(name: str, allowed: int, disrupted: Iterable[str] = (), **labels: str) -> dict[str, Any]:
    """A budget of the pods with these labels; underscores stand for dashes."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {key.replace("_", "-"): value for key, value in labels.items()}}},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")},
    }


@dataclass
class Preempted:
    """Remembers who was preempted, and fails where a test says so."""

    all_victims: ClaimedVictims = field(default_factory=ClaimedVictims)
    victims: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    attempts: int = 0
    victim_counts: list[int] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)
    hold: asyncio.Event | None = None
    on_preempt: Callable[[Pod], None] = lambda _: None

    def count_attempt(self) -> None:
        self.attempts += 1

    def count_victims(self, victims: int) -> None:
        self.victim_counts.append(victims)

    async def preempt(self, victim: Pod, preemptor: Pod, node: str, plugin: str) -> None:
        await asyncio.sleep(0)
        if self.hold:
            await self.hold.wait()
        if self.all_victims.is_asked(victim):
            return
        self.on_preempt(victim)
        if victim.name in self.refuses:
            raise ConnectionError(f"{victim.name} may not be deleted")
        self.all_victims.mark_asked(victim)
        self.victims.append(f"{victim.name} for {preemptor.name} on {node}")

    async def clear_nomination(self, pod: Pod) -> None:
        self.cleared.append(pod.name)


class Scene:
    """Nodes with pods on them, and a scheduler with preemption."""

    def __init__(
        self,
        nodes: Iterable[str | wire.Node],
        pods: Iterable[Pod] = (),
        *plugins: type[Plugin],
        budgets: Iterable[Mapping[str, Any]] = (),
        objects: testing.Objects | None = None,
        profile: Mapping[str, Any] | None = None,
        version: str = "v1.36.4",
        feature_gates: Mapping[str, bool] | None = None,
    ) -> None:
        """A node that is only named has room for what is VERY_LARGE.

        ``objects`` stand in the place of ``budgets`` where these change.
        """
        self.cluster = testing.Cluster(*(_node(node) for node in nodes))
        for placed in pods:
            self.cluster.place(placed, placed.spec.node_name)
        self.victims = ClaimedVictims()
        self.api = Preempted(self.victims)
        self.activated: list[str] = []
        self.nominations = Nominations()
        self.latest: dict[str, Pod | None] = {}
        services = PluginServices(
            _NoBinds(),
            lambda *_: None,
            lambda activated: self.activated.extend(pod.name for pod in activated),
            objects or testing.Objects(*budgets),
            nominations=self.nominations,
            victims=self.victims,
            preemptions=self.api,
            latest=lambda pod: self.latest.get(pod.uid, pod),
        )
        enabled = {"plugins": {"multiPoint": {"enabled": [{"name": plugin.__name__} for plugin in plugins]}}}
        self.framework = Framework(
            effective_profile({**enabled, **(profile or {})}, plugins, Target.parse(version, feature_gates or {})),
            services,
            Version.parse(version),
            1,
            {**IN_TREE, **{plugin.__name__: plugin for plugin in plugins}},
            feature_gates or {},
        )
        plugin: Any = self.framework.plugin("DefaultPreemption")
        self.plugin = plugin
        self.candidates: dict[str, tuple[list[str], int]] = {}
        plugin.extend = self._noted

    def schedule(self, pod: Pod) -> Placed | Unschedulable:
        """Decide about ``pod``. What is to be done for it is not done."""
        outcome = self.framework.schedule(pod, self.cluster)
        if isinstance(outcome, Unschedulable) and outcome.nomination and outcome.nomination.work:
            outcome.nomination.work.close()
            self.plugin._evictions.last_victims.clear()
            for row in range(len(self.cluster.table)):
                self.victims.release(pod, self.cluster.table.pods(row))
        return outcome

    def refused(self, pod: Pod) -> Unschedulable:
        """Decide about a pod that fits nowhere."""
        outcome = self.schedule(pod)
        assert isinstance(outcome, Unschedulable), outcome
        return outcome

    def nominated(self, pod: Pod) -> str:
        """The node that a pod that fits nowhere is nominated to; empty when it is to none."""
        nomination = self.refused(pod).nomination
        return nomination.node_name if nomination else ""

    def post_filter_message(self, pod: Pod) -> str:
        """What is said of preemption in the message of a pod that fits nowhere."""
        return self.refused(pod).message.partition("preemption: ")[2]

    def _noted(self, _: Pod, candidates: Sequence[Any]) -> Sequence[Any]:
        self.candidates = {
            candidate.node: ([victim.name for victim in candidate.victims], candidate.violations)
            for candidate in candidates
        }
        return candidates


class _NoBinds:
    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        raise AssertionError("nobody is bound here")


def _node(node: str | wire.Node) -> wire.Node:
    return testing.node(node, cpu="500m", memory="500") if isinstance(node, str) else node
