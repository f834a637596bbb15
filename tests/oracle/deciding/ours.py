"""Berth's decisions on the objects that an API server holds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import yaml

from scheduler_runtime import config
from scheduler_runtime.api import Nomination, Watch
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework import Framework, Placed, PluginServices, Unschedulable
from scheduler_runtime.framework.explanation import Explanation, explain
from scheduler_runtime.plugins.defaultpreemption.candidates import Candidate, Clock, best
from scheduler_runtime.plugins.defaultpreemption.plugin import DefaultPreemption
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import Node, Pod, ResizeRules, decode_node, decode_pod
from scheduler_runtime.testing import Objects
from tests.oracle.deciding.decision import Decision, shortened
from tests.oracle.deciding.lent import NoBinds, NoPreemptions, Watched
from tests.support.administrator import PLURALS, Administrator

Object = dict[str, Any]

LIVE_PODS = "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed"
WATCHED = (
    Watch("v1", "Namespace"),
    Watch("v1", "Service"),
    Watch("v1", "ReplicationController"),
    Watch("apps/v1", "ReplicaSet"),
    Watch("apps/v1", "StatefulSet"),
    Watch("policy/v1", "PodDisruptionBudget"),
)


class Ours:
    """The profiles of one document, and the cluster they decide about."""

    def __init__(self, document: Object, target: Target) -> None:
        self._resizing = ResizeRules.of(target)
        self._objects = Watched()
        self._cache = Cache()
        self._pods: dict[str, Pod] = {}
        self._versions: dict[str, str] = {}
        self._candidates: Sequence[Candidate] = ()
        self._nominations = Nominations()
        services = PluginServices(
            binds=NoBinds(),
            record=lambda *_: None,
            activate=lambda _: None,
            objects=self._objects,
            nominations=self._nominations,
            preemptions=NoPreemptions(),
            latest=lambda pod: self._pods.get(pod.uid),
        )
        self._frameworks = {
            profile.scheduler_name: Framework(
                profile, services, target.version, seed=0, feature_gates=target.feature_gates
            )
            for profile in _profiles(document, target)
        }
        for framework in self._frameworks.values():
            preemption = framework.plugin("DefaultPreemption")
            assert isinstance(preemption, DefaultPreemption)
            preemption.extend = self._note_candidates

    def _read(self, raw: bytes) -> Pod:
        return decode_pod(raw, self._resizing)

    def look(self, administrator: Administrator, kinds: Iterable[str] = ()) -> None:
        """See a cluster for the first time; beside nodes, pods and namespaces there are objects of ``kinds`` in it."""
        self._cache = Cache()
        for uid in self._pods:
            self._nominations.forget(uid)
        self._pods = {}
        self._objects.become(Objects(*_watched(administrator, {"Namespace", *kinds})))
        for framework, watch in itertools.product(self._frameworks.values(), WATCHED):
            framework.invalidate_for(watch.event_resource)
        self._versions = {}
        self.look_again(administrator)

    def see(self, node: Node) -> None:
        """See a node."""
        self._cache.set_node(node)

    def look_again(self, administrator: Administrator) -> None:
        """See what became of nodes and pods since."""
        for node in map(decode_node, administrator.items(PLURALS["Node"])):
            if self._versions.get(node.name) != node.metadata.resource_version:
                self._versions[node.name] = node.metadata.resource_version
                self.see(node)
        pods = {pod.uid: pod for pod in map(self._read, administrator.items(LIVE_PODS))}
        for uid in self._pods.keys() - pods.keys():
            self._cache.remove(uid)
            self._nominations.forget(uid)
        for uid, pod in pods.items():
            before = self._pods.get(uid)
            if not pod.spec.node_name:
                self._nominations.observe(before, pod)
            elif before is None or before.metadata.resource_version != pod.metadata.resource_version:
                self._nominations.forget(uid)
                self._cache.add(pod)
        self._pods = pods

    def decide(self, stored: Object) -> tuple[Decision, Explanation]:
        """What becomes of the pod that the API server wrote as ``written``."""
        pod = self._read(json.dumps(stored).encode())
        framework = self._frameworks[pod.spec.scheduler_name]
        self._candidates = ()
        self._nominations.observe(None, pod)
        self._pods[pod.uid] = pod
        explanation = explain(framework, pod, self._cache)
        outcome = framework.schedule(pod, self._cache)
        match outcome:
            case Placed():
                framework.release(outcome, self._cache)
                return self._placed(outcome, explanation), explanation
            case Unschedulable():
                return self._unschedulable(outcome, explanation), explanation

    def _placed(self, outcome: Placed, explanation: Explanation) -> Decision:
        return Decision(
            pod=outcome.pod.key,
            node=outcome.node,
            feasible=explanation.feasible,
            scores=explanation.scores,
            totals=explanation.totals,
            nominated=outcome.pod.status.nominated_node_name,
        )

    def _unschedulable(self, outcome: Unschedulable, explanation: Explanation) -> Decision:
        return Decision(
            pod=outcome.pod.key,
            feasible=explanation.feasible,
            message=outcome.message,
            note=shortened(outcome.message),
            nominated=_nominated(outcome.pod, outcome.nomination),
            victims={candidate.node: keys(candidate.victims) for candidate in self._candidates},
            best_candidates=best_of(self._candidates),
        )

    def _note_candidates(self, pod: Pod, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        self._candidates = candidates
        return candidates

    def gate(self, stored: Object) -> str:
        """What keeps the pod out of the queue; empty when nothing does."""
        pod = self._read(json.dumps(stored).encode())
        gate = self._frameworks[pod.spec.scheduler_name].queue.pre_enqueue(pod)
        return gate.reason if gate else ""


def _profiles(document: Object, target: Target) -> tuple[config.EffectiveProfile, ...]:
    loaded = config.load(yaml.safe_dump(document))
    assert not isinstance(loaded, config.Problems), loaded
    profiles = config.expand_profiles(loaded, target)
    assert not isinstance(profiles, config.Problems), profiles
    return profiles


def _watched(administrator: Administrator, kinds: Collection[str]) -> Iterator[Object]:
    for watch in (kind for kind in WATCHED if kind.kind in kinds):
        for item in administrator.items(PLURALS[watch.kind].replace("/namespaces/{}", "")):
            yield {"apiVersion": watch.api_version, "kind": watch.kind, **json.loads(item)}


def _nominated(pod: Pod, nomination: Nomination | None) -> str:
    if nomination is None:
        return pod.status.nominated_node_name
    if nomination.work:
        nomination.work.close()
    return nomination.node_name


def keys(pods: Iterable[Pod]) -> frozenset[str]:
    """``namespace/name`` of each of ``pods``."""
    return frozenset(pod.key for pod in pods)


def best_of(candidates: Sequence[Candidate]) -> frozenset[str]:
    """The nodes of those candidates that are as good as the one that is chosen."""
    if not candidates:
        return frozenset()
    clock = Clock(lambda _: False)
    best_candidate = best(candidates, clock)
    worth = best_candidate.cost, clock.earliest_start(best_candidate)
    return frozenset(
        candidate.node for candidate in candidates if (candidate.cost, clock.earliest_start(candidate)) == worth
    )
