"""Clusters that change, and the plugin's answers about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec
import numpy as np

from scheduler_runtime import testing
from scheduler_runtime.api import SKIP, Node, NodeTable, Pod, Reject, Taint
from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.args import PodTopologySpreadArgs
from scheduler_runtime.plugins.podtopologyspread import PodTopologySpread
from tests.scheduler_runtime.plugins.podtopologyspread.naive import HOSTNAME, Verdict

ZONE = "topology.kubernetes.io/zone"
SELECTORS: list[dict[str, Any] | None] = [
    {"matchLabels": {"app": "a"}},
    {"matchLabels": {"app": "a"}},
    {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
    {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
    {"matchLabels": {"app": "b"}, "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}]},
    {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
    {},
    None,
]


class Handle:
    """A handle that offers objects, the version and its feature gates."""

    def __init__(self, objects: testing.Objects, version: str, gates: Mapping[str, bool]) -> None:
        self.version = version
        self.enabled = Target.parse(version, gates).enabled
        self.find, self.list, self.revision = objects.find, objects.list, objects.revision


def spreading(
    args: dict[str, Any] | None = None,
    *objects: Any,
    version: str = "v1.36.4",
    gates: Mapping[str, bool] | None = None,
) -> PodTopologySpread:
    """The plugin, in a cluster with ``objects``."""
    return plugin_of(args or {}, Handle(testing.Objects(*objects), version, gates or {}))


def plugin_of(args: dict[str, Any], handle: Any) -> PodTopologySpread:
    return PodTopologySpread(PodTopologySpreadArgs.model_validate(args, strict=False), handle)


def labelled(pod: Pod, labels: Mapping[str, str] | None, **metadata: Any) -> Pod:
    """``pod`` with these labels, and whatever else its metadata should have."""
    new = msgspec.structs.replace(pod.metadata, labels=dict(labels) if labels is not None else None, **metadata)
    return msgspec.structs.replace(pod, metadata=new)


def constraint(key: str = ZONE, when: str = "DoNotSchedule", skew: int = 1, **more: Any) -> dict[str, Any]:
    """A constraint about the pods of app a, as in YAML."""
    selector = {"matchLabels": {"app": "a"}}
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector, **more}


def all_nodes(cluster: testing.Cluster) -> NodeTable:
    return NodeTable(cluster.table, np.ones(len(cluster.table), np.bool_))


def verdicts(rejects: Sequence[Reject], size: int) -> list[Verdict]:
    """What ``rejects`` say of each row; no row may be rejected twice."""
    by_row: list[Verdict] = [None] * size
    for reject in rejects:
        for row in range(size):
            if reject.rows is True or reject.rows[row]:
                assert by_row[row] is None
                resolvable = np.broadcast_to(reject.resolvable, size)[row]
                by_row[row] = (reject.reason, bool(resolvable))
    return by_row


def filter_verdicts(plugin: PodTopologySpread, pod: Pod, cluster: testing.Cluster) -> list[Verdict]:
    """What the filter says of each row."""
    nodes = all_nodes(cluster)
    state = plugin.pre_filter(pod, nodes, {})
    if state is SKIP:
        return [None] * len(nodes)
    rejects = [state] if isinstance(state, Reject) else list(plugin.filter(pod, nodes, state))
    return verdicts(rejects, len(nodes))


def scored(plugin: PodTopologySpread, pod: Pod, cluster: testing.Cluster, feasible: Sequence[bool]) -> list[int] | None:
    """The normalised score of each feasible row; None when no constraint of the pod is about scores."""
    nodes = NodeTable(cluster.table, np.array(feasible, np.bool_))
    state = plugin.pre_score(pod, nodes, {})
    if state is SKIP:
        constraints = plugin._constraints.get(pod)
        return [0] * sum(feasible) if constraints and constraints.soft else None
    scores = plugin.normalize_score(pod, nodes, plugin.score(pod, nodes, state), state)
    assert scores.dtype == np.int64
    return [score for score, inside in zip(scores.tolist(), feasible, strict=True) if inside]


class Changes:
    """A cluster in which nodes and pods come, change and go."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - cases, not secrets
        self.cluster = testing.Cluster(*(self.node(f"node-{number}") for number in range(8)))
        self.pods: list[tuple[Pod, str]] = []
        self.created = 0

    def node(self, name: str) -> Node:
        chance = self.random
        labels = {ZONE: chance.choice(["a", "b", "c"]), "rack": chance.choice("123"), "pool": chance.choice("ab")}
        if chance.random() < 0.15:
            del labels[chance.choice([ZONE, "rack"])]
        if chance.random() < 0.15:
            labels.update(chance.choice([{HOSTNAME: "shared"}, {ZONE: ""}]))
        taints = [Taint(key=chance.choice("tu"), effect=chance.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"]))]
        return testing.node(name, labels=labels, taints=taints if chance.random() < 0.4 else [])

    def pod(self) -> Pod:
        self.created += 1
        deleting = "2026-01-01T00:00:00Z" if self.random.random() < 0.1 else None
        namespace = self.random.choice(["default", "default", "default", "other"])
        created = testing.pod(f"pod-{self.created}")
        return labelled(created, self.labels(), namespace=namespace, deletion_timestamp=deleting)

    def labels(self) -> dict[str, str] | None:
        chance = self.random
        if chance.random() < 0.1:
            return None
        return {"app": chance.choice("aab"), **({"tier": chance.choice("xy")} if chance.random() < 0.4 else {})}

    def constraint(self) -> dict[str, Any]:
        chance = self.random
        more = {
            "minDomains": chance.randint(1, 4),
            "nodeAffinityPolicy": chance.choice(["Honor", "Ignore"]),
            "nodeTaintsPolicy": chance.choice(["Honor", "Ignore"]),
            "matchLabelKeys": ["tier"],
        }
        return {
            "maxSkew": chance.randint(1, 3),
            "topologyKey": chance.choice([ZONE, "rack", HOSTNAME]),
            "whenUnsatisfiable": chance.choice(["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": chance.choice(SELECTORS),
            **{name: value for name, value in more.items() if chance.random() < 0.3},
        }

    def incoming(self) -> Pod:
        chance = self.random
        spec: dict[str, Any] = {"tolerations": [{"key": chance.choice(["", "t"]), "operator": "Exists"}]}
        if chance.random() < 0.3:
            spec["nodeSelector"] = {"pool": chance.choice("ab")}
        if chance.random() < 0.2:
            in_pool = {"key": "pool", "operator": "In", "values": [chance.choice("ab")]}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [in_pool]}, {}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        constraints = [self.constraint() for _ in range(chance.choice([1, 1, 2, 3]))]
        return labelled(testing.pod("incoming", topologySpreadConstraints=constraints, **spec), self.labels())

    def step(self) -> None:
        chance, names = self.random, self.cluster.table.names
        match chance.choices(["place", "remove", "node", "no node"], [10, 6, 2, 1])[0]:
            case "remove" if self.pods:
                self.cluster.table.remove_pod(*self.pods.pop(chance.randrange(len(self.pods))))
            case "node":
                self.cluster.table.set_node(self.node(f"node-{chance.randrange(12)}"))
            case "no node" if len(names) > 2:
                self.cluster.table.remove_node(chance.choice(names))
            case _:
                pod, name = self.pod(), chance.choice(names)
                self.cluster.place(pod, name)
                self.pods.append((pod, name))

    def some_feasible(self) -> list[bool]:
        share = self.random.choice([0.2, 0.8, 1, 1])
        return [self.random.random() < share for _ in self.cluster.table.names]
