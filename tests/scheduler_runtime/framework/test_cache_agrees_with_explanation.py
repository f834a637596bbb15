"""``Framework.schedule``, which remembers, decides as ``explain`` does, which asks everything anew.

Between two decisions anything may change: labels, images and ports of nodes, pods, namespaces, services, nominations.
"""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.framework import Placed, Unschedulable
from scheduler_runtime.framework.explanation import Explanation, explain
from scheduler_runtime.state.objects import Pod
from tests.scheduler_runtime.framework import random_cluster

VERSIONS = ("v1.35.4", "v1.36.4", "v1.37.1")
STEPS = 50


class Story:
    """A small cluster, and a framework that sees all that happens to it."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self.objects = testing.Objects()
        self.framework = testing.framework(objects=self.objects, seed=seed, version=self.chance.choice(VERSIONS))
        self.names = [f"node-{number}" for number in range(self.chance.randint(2, 9))]
        self.cluster = testing.Cluster(*(random_cluster.node(self.chance, name) for name in self.names))
        self.kinds = [random_cluster.pod(self.chance, f"kind-{number}") for number in range(5)]
        self.running: list[tuple[Pod, str]] = []
        self.nominated: list[Pod] = []
        self.count = 0
        self.namespace_changes()
        self.service_changes()

    def goes_on(self) -> None:
        """Let something happen, most often a decision."""
        changes = {
            self.node_changes: 25,
            self.node_goes: 5,
            self.pod_goes: 10,
            self.namespace_changes: 3,
            self.service_changes: 3,
            self.nomination_comes: 6,
            self.nomination_goes: 3,
            self.decides: 45,
        }
        self.chance.choices(list(changes), list(changes.values()))[0]()

    def node_changes(self) -> None:
        self.cluster.table.set_node(random_cluster.node(self.chance, self.chance.choice(self.names)))

    def node_goes(self) -> None:
        if len(self.cluster.table) > 2:
            self.cluster.table.remove_node(self.chance.choice(self.cluster.table.names))

    def pod_goes(self) -> None:
        if self.running:
            pod, node = self.running.pop(self.chance.randrange(len(self.running)))
            self.cluster.table.remove_pod(pod, node)

    def namespace_changes(self) -> None:
        labels = {"team": self.chance.choice("xy")}
        self.objects.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": labels}})
        self.framework.invalidate_for("Namespace")

    def service_changes(self) -> None:
        metadata, spec = {"name": "s", "namespace": "default"}, {"selector": {"app": self.chance.choice("12")}}
        self.objects.put({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        self.framework.invalidate_for("Service")

    def nomination_comes(self) -> None:
        self.nominated.append(self.another(random_cluster.pod(self.chance, "")))
        self.framework.nominations.nominate(self.nominated[-1], self.chance.choice(self.cluster.table.names))

    def nomination_goes(self) -> None:
        if self.nominated:
            self.framework.nominations.forget(self.nominated.pop().uid)

    def another(self, kind: Pod) -> Pod:
        self.count += 1
        return replace(kind, metadata=replace(kind.metadata, name=f"pod-{self.count}", uid=f"uid-{self.count}"))

    def decides(self) -> None:
        pod = self.another(self.chance.choice(self.kinds))
        expected = explain(self.framework, pod, self.cluster)
        outcome = self.framework.schedule(pod, self.cluster)
        if isinstance(outcome, Placed):
            self.running.append((pod, outcome.node))
            assert outcome.node in best(expected), expected
        else:
            assert not expected.feasible, outcome.message
            never_helps(outcome)


def best(explanation: Explanation) -> frozenset[str]:
    totals = explanation.totals
    return frozenset(node for node in explanation.feasible if not totals or totals[node] == max(totals.values()))


def never_helps(outcome: Unschedulable) -> None:
    """No victim of a preemption goes."""
    if outcome.nomination and outcome.nomination.work:
        outcome.nomination.work.close()


def happens(seed: int) -> None:
    story = Story(seed)
    for _ in range(STEPS):
        story.goes_on()


@pytest.mark.parametrize("seed", range(12))
def test_a_few_small_clusters(seed: int) -> None:
    happens(seed)


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("hundred", range(1, 5))
def test_many_small_clusters(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        try:
            happens(seed)
        except Exception as error:
            error.add_note(f"happens({seed})")
            raise
