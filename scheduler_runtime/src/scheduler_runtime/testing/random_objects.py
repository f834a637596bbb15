"""Random nodes and pods, with everything by which the plugins of Kubernetes tell them apart; a seed repeats them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from random import Random
from typing import Any

import msgspec

from scheduler_runtime.state.objects import AnnotatedMeta, Node, Pod
from scheduler_runtime.testing.scenes import Scene, SceneChange, node_removed, node_set, pod_placed, pod_removed

Raw = dict[str, Any]
"""An object, or a part of one, as in YAML."""

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class RandomObjects:
    """Makes nodes, pods, scenes and changes. With examples, every second node or pod is a copy of one of them.

    Values come from small sets, so that selectors, tolerations and topologies often match: an answer that never changes
    shows nothing about a plugin.
    """

    def __init__(self, seed: int, nodes: Sequence[Node] = (), pods: Sequence[Pod] = ()) -> None:
        """``nodes`` and ``pods`` are the examples; they are copied, never changed."""
        self.random = Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self._nodes = nodes
        self._pods = pods
        self._pod_number = 0

    def scene(self) -> Scene:
        """Return two to six nodes with up to eight pods on them."""
        scene = Scene(tuple(self.node(f"node-{number}") for number in range(self.random.randint(2, 6))))
        for _ in range(self.random.randint(0, 8)):
            scene = pod_placed(scene, self.pod(), self.random.choice(scene.names)).scene
        return scene

    def node(self, name: str) -> Node:
        """Return a node of this name, random or a copy of an example."""
        if self._nodes and self._happens(0.5):
            # A deep copy: a hook that changes a node must not change the example that later nodes are made of.
            example = deepcopy(self.random.choice(self._nodes))
            labels = {**example.labels, HOSTNAME: name}
            return msgspec.structs.replace(
                example, metadata=msgspec.structs.replace(example.metadata, name=name, labels=labels)
            )
        allocatable = {"cpu": self._one_of("1", "2", "4"), "memory": self._one_of("1Gi", "4Gi")}
        allocatable |= {"pods": self._one_of("2", "3", "110"), "example.com/gpu": self._one_of("0", "1", "2")}
        taints = [
            {
                "key": self._one_of("dedicated", "level"),
                "value": self._one_of("", "1", "7"),
                "effect": self._one_of("NoSchedule", "PreferNoSchedule", "NoExecute"),
            }
            for _ in range(self._one_of(0, 0, 1, 2))
        ]
        images = [
            {"names": [f"registry.example.com/{image}:v1"], "sizeBytes": size}
            for image, size in (("a", 400_000_000), ("b", 900_000_000))
            if self._happens(0.3)
        ]
        status = {"allocatable": allocatable, "images": images}
        if self._happens(0.5):
            status["declaredFeatures"] = [
                "InPlacePodLevelResourcesVerticalScaling",
                "RestartAllContainersOnContainerExits",
            ]
        more_labels = {ZONE: lambda: self._one_of("a", "b"), "pool": lambda: self._one_of("1", "5", "x")}
        metadata = {"name": name, "labels": {HOSTNAME: name, **self._some(more_labels, 0.75)}}
        spec = {"taints": taints, "unschedulable": self._happens(0.15)}
        return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Node)

    def pod(self) -> Pod:
        """Return a pod with a name of its own, random or a copy of an example."""
        self._pod_number += 1
        name = f"pod-{self._pod_number}"
        if self._pods and self._happens(0.5):
            return renamed(deepcopy(self.random.choice(self._pods)), name)
        metadata = {"name": name, "namespace": self._one_of("default", "default", "team"), "uid": f"uid-of-{name}"}
        metadata["labels"] = self._some({"app": lambda: self._one_of("web", "db"), "tier": lambda: "1"}, 0.7)
        rare_fields: Mapping[str, Callable[[], Any]] = {
            "priority": lambda: self._one_of(1, 1000),
            "nodeSelector": lambda: {"pool": self._one_of("1", "x")},
            "initContainers": lambda: [self._container("init")],
            "overhead": lambda: {"cpu": "100m"},
            "schedulingGates": lambda: [{"name": "example.com/wait"}],
            "preemptionPolicy": lambda: "Never",
        }
        affinities: Mapping[str, Callable[[], Any]] = {
            "nodeAffinity": self._node_affinity,
            "podAffinity": self._pod_affinity,
            "podAntiAffinity": self._pod_affinity,
        }
        frequent_fields: Mapping[str, Callable[[], Any]] = {
            "tolerations": lambda: [self._toleration() for _ in range(self._one_of(1, 2))],
            "affinity": lambda: self._some(affinities, 0.6),
            "topologySpreadConstraints": lambda: [self._spread_constraint() for _ in range(self._one_of(1, 2))],
        }
        spec = {"containers": [self._container("main")], "schedulerName": "test"}
        spec |= self._some(rare_fields, 0.2) | self._some(frequent_fields, 0.35)
        if self._happens(0.2):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)

    def change(self, scene: Scene) -> SceneChange:
        """Return something that can happen to ``scene``: most often a pod is removed, because that helps other pods."""
        choices: list[Callable[[], SceneChange]] = [
            lambda: node_set(scene, self.node(self.random.choice((*scene.names, "node-new")))),
            lambda: pod_placed(scene, self.pod(), self.random.choice(scene.names)),
        ]
        if scene.placed:
            choices += [lambda: pod_removed(scene, *self.random.choice(scene.placed))] * 2
        if len(scene.nodes) > 2:
            choices.append(lambda: node_removed(scene, self.random.choice(scene.nodes)))
        return self.random.choice(choices)()

    def _happens(self, probability: float) -> bool:
        return self.random.random() < probability

    def _some(self, values: Mapping[str, Callable[[], Any]], probability: float) -> Raw:
        """Return a mapping with some of the keys, each with this probability."""
        return {key: make() for key, make in values.items() if self._happens(probability)}

    def _one_of(self, *values: Any) -> Any:
        return self.random.choice(values)

    def _container(self, name: str) -> Raw:
        requests = self._some(
            {
                "cpu": lambda: self._one_of("100m", "1", "2"),
                "memory": lambda: self._one_of("100Mi", "2Gi"),
                "example.com/gpu": lambda: "1",
            },
            0.4,
        )
        ports = []
        if self._happens(0.3):
            ports = [{"hostPort": self._one_of(80, 443), "hostIP": self._one_of("", "10.0.0.1")}]
        image = f"registry.example.com/{self._one_of('a', 'b', 'c')}:v1"
        return {"name": name, "image": image, "resources": {"requests": requests}, "ports": ports}

    def _toleration(self) -> Raw:
        return self._some(
            {
                "key": lambda: self._one_of("dedicated", "level", "node.kubernetes.io/unschedulable"),
                "value": lambda: self._one_of("1", "7"),
                "effect": lambda: self._one_of("NoSchedule", "PreferNoSchedule"),
            },
            0.6,
        ) | {"operator": self._one_of("Exists", "Equal")}

    def _node_affinity(self) -> Raw:
        operator = self._one_of("In", "NotIn", "Exists", "DoesNotExist", "Gt")
        values = {"In": ["1", "x"], "NotIn": ["1"], "Gt": ["3"]}.get(operator, [])
        expression = {"key": self._one_of("pool", ZONE), "operator": operator, "values": values}
        term = {"matchExpressions": [expression]}
        return self._some(
            {
                REQUIRED: lambda: {"nodeSelectorTerms": [term]},
                PREFERRED: lambda: [{"weight": self._one_of(1, 50), "preference": term}],
            },
            0.6,
        )

    def _pod_affinity(self) -> Raw:
        term = {"labelSelector": self._one_of(self._selector(), {}), "topologyKey": self._one_of(ZONE, HOSTNAME)}
        term |= self._some({"namespaces": lambda: ["team"], "namespaceSelector": dict}, 0.2)
        return self._some({REQUIRED: lambda: [term], PREFERRED: lambda: [{"weight": 10, "podAffinityTerm": term}]}, 0.6)

    def _selector(self) -> Raw:
        by_label, by_expression = {"app": "web"}, [{"key": "tier", "operator": "Exists"}]
        selectors: list[Raw] = [{"matchLabels": by_label}, {"matchExpressions": by_expression}]
        return self.random.choice(selectors)

    def _spread_constraint(self) -> Raw:
        return {
            "maxSkew": self._one_of(1, 2),
            "topologyKey": self._one_of(ZONE, HOSTNAME),
            "whenUnsatisfiable": self._one_of("DoNotSchedule", "ScheduleAnyway"),
            "labelSelector": self._selector(),
            **self._some({"nodeTaintsPolicy": lambda: "Honor", "nodeAffinityPolicy": lambda: "Ignore"}, 0.3),
        }


def renamed(pod: Pod, name: str) -> Pod:
    """Return a copy of ``pod`` that is another pod: of another name and uid."""
    metadata: AnnotatedMeta = msgspec.structs.replace(pod.metadata, name=name, uid=f"uid-of-{name}")
    return msgspec.structs.replace(pod, metadata=metadata)
