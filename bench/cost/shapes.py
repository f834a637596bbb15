"""Pods and nodes with one list or map as long as somebody likes: what users, and kubelets, can make a scheduler read.

Each shape is a patch of an ordinary object; its number is how many entries the list or map has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

Object = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
WEIGHT = 1


@dataclass(frozen=True, slots=True)
class LongList:
    """A pod or a node with a long list or map."""

    title: str
    patch: Callable[[int], Object]
    """The fields of metadata, spec and status that make an object of this shape with so many entries."""
    kind: str = "Pod"


def spread(number: int, action: str, key: str = "l{}", **more: Any) -> Object:
    constraints = [
        {"maxSkew": 1, "topologyKey": key.format(index), "whenUnsatisfiable": action, **more} for index in range(number)
    ]
    return {"spec": {"topologySpreadConstraints": constraints}}


def selector(index: int) -> Object:
    return {"matchLabels": {"app": f"a{index}"}}


def affinity(kind: str, when: str, entries: list[Object]) -> Object:
    return {"spec": {"affinity": {kind: {when: entries}}}}


def pod_terms(kind: str, number: int, key: str = HOST, **more: Any) -> Object:
    terms = [{"topologyKey": key.format(index), "labelSelector": selector(index), **more} for index in range(number)]
    return affinity(kind, REQUIRED, terms)


def preferred_pod_terms(kind: str, number: int, key: str = HOST) -> Object:
    terms = [
        {"weight": WEIGHT, "podAffinityTerm": {"topologyKey": key.format(index), "labelSelector": selector(index)}}
        for index in range(number)
    ]
    return affinity(kind, PREFERRED, terms)


def one_pod_term(**term: Any) -> Object:
    return affinity("podAntiAffinity", REQUIRED, [{"topologyKey": HOST, "labelSelector": selector(0), **term}])


def expressions(number: int, operator: str = "NotIn") -> list[Object]:
    values = {"values": ["v"]} if operator in ("In", "NotIn") else {}
    return [{"key": f"k{index}", "operator": operator, **values} for index in range(number)]


def texts(number: int, prefix: str = "v") -> list[str]:
    return [f"{prefix}{index}" for index in range(number)]


def labels(number: int) -> dict[str, str]:
    return {f"k{index}": f"v{index}" for index in range(number)}


def node_terms(number: int) -> Object:
    terms = [{"matchExpressions": [{"key": f"k{index}", "operator": "DoesNotExist"}]} for index in range(number)]
    return {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}}


def one_node_term(requirements: list[Object], field: str = "matchExpressions") -> Object:
    return {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{field: requirements}]}}}}}


def preferred_node_terms(number: int) -> Object:
    return affinity(
        "nodeAffinity",
        PREFERRED,
        [
            {"weight": WEIGHT, "preference": {"matchExpressions": [{"key": f"k{index}", "operator": "DoesNotExist"}]}}
            for index in range(number)
        ],
    )


def tolerations(number: int) -> Object:
    return {"spec": {"tolerations": [{"key": f"k{index}", "operator": "Exists"} for index in range(number)]}}


def container(name: str = "c", **more: Any) -> Object:
    return {"name": name, "image": "none", **more}


def containers(number: int, field: str = "containers", **more: Any) -> Object:
    main = {} if field == "containers" else {"containers": [container("main")]}
    return {"spec": {field: [container(f"c{index}", **more) for index in range(number)], **main}}


def host_ports(number: int) -> Object:
    ports = [{"containerPort": 1000 + index, "hostPort": 1000 + index} for index in range(number)]
    return {"spec": {"containers": [container(ports=ports)]}}


def host_ports_apart(number: int) -> Object:
    some = [
        container(f"c{index}", ports=[{"containerPort": 1000 + index, "hostPort": 1000 + index}])
        for index in range(number)
    ]
    return {"spec": {"containers": some}}


def resources(number: int) -> Object:
    amounts = {f"example.com/r{index}": "0" for index in range(number)}
    return {"spec": {"containers": [container(resources={"requests": amounts, "limits": amounts})]}}


def managed_fields(number: int) -> Object:
    fields: Object = {f"f:k{index}": {} for index in range(number)}
    entry = {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": fields}},
    }
    return {"metadata": {"managedFields": [entry]}}


def owners(number: int) -> Object:
    references = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"r{index}", "uid": f"u{index}"}
        for index in range(number)
    ]
    return {"metadata": {"ownerReferences": references}}


def volumes(number: int, **source: Any) -> Object:
    return {"spec": {"volumes": [{"name": f"v{index}", **source} for index in range(number)]}}


def environment(number: int) -> Object:
    return {"spec": {"containers": [container(env=[{"name": f"E{index}", "value": "v"} for index in range(number)])]}}


SHAPES: Mapping[str, LongList] = MappingProxyType(
    {
        "soft-spread": LongList("spread constraints, ScheduleAnyway", lambda n: spread(n, "ScheduleAnyway")),
        "hard-spread": LongList("spread constraints, DoNotSchedule", lambda n: spread(n, "DoNotSchedule")),
        "spread-selectors": LongList(
            "spread constraints, each with a selector",
            lambda n: spread(n, "ScheduleAnyway", labelSelector={"matchLabels": {"app": "x"}}),
        ),
        "spread-label-keys": LongList(
            "matchLabelKeys of one spread constraint",
            lambda n: spread(
                1, "ScheduleAnyway", ZONE, labelSelector={"matchLabels": {"a": "x"}}, matchLabelKeys=texts(n, "k")
            ),
        ),
        "pod-affinity": LongList("required terms of pod affinity", lambda n: pod_terms("podAffinity", n)),
        "pod-affinity-keys": LongList(
            "required terms of pod affinity, each by a label of its own", lambda n: pod_terms("podAffinity", n, "l{}")
        ),
        "anti-affinity": LongList("required terms of pod anti-affinity", lambda n: pod_terms("podAntiAffinity", n)),
        "anti-affinity-keys": LongList(
            "required terms of pod anti-affinity, each by a label of its own",
            lambda n: pod_terms("podAntiAffinity", n, "l{}"),
        ),
        "rather-near": LongList("preferred terms of pod affinity", lambda n: preferred_pod_terms("podAffinity", n)),
        "rather-apart": LongList(
            "preferred terms of pod anti-affinity", lambda n: preferred_pod_terms("podAntiAffinity", n)
        ),
        "rather-apart-keys": LongList(
            "preferred terms of pod anti-affinity, each by a label of its own",
            lambda n: preferred_pod_terms("podAntiAffinity", n, "l{}"),
        ),
        "term-expressions": LongList(
            "requirements of the selector of one term",
            lambda n: one_pod_term(labelSelector={"matchExpressions": expressions(n)}),
        ),
        "term-values": LongList(
            "values of one requirement of one term",
            lambda n: one_pod_term(
                labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": texts(n)}]}
            ),
        ),
        "term-namespaces": LongList("namespaces of one term", lambda n: one_pod_term(namespaces=texts(n, "ns"))),
        "term-namespace-selector": LongList(
            "requirements of the namespaceSelector of one term",
            lambda n: one_pod_term(namespaceSelector={"matchExpressions": expressions(n)}),
        ),
        "namespace-selectors": LongList(
            "required terms of pod anti-affinity, each with a namespaceSelector",
            lambda n: pod_terms("podAntiAffinity", n, namespaceSelector={"matchLabels": {"team": "x"}}),
        ),
        "node-terms": LongList("required terms of node affinity", node_terms),
        "node-expressions": LongList(
            "requirements of one term of node affinity", lambda n: one_node_term(expressions(n, "DoesNotExist"))
        ),
        "node-values": LongList(
            "values of one requirement of node affinity",
            lambda n: one_node_term([{"key": HOST, "operator": "NotIn", "values": texts(n)}]),
        ),
        "rather-nodes": LongList("preferred terms of node affinity", preferred_node_terms),
        "node-selector": LongList("labels of nodeSelector", lambda n: {"spec": {"nodeSelector": labels(n)}}),
        "tolerations": LongList("tolerations", tolerations),
        "host-ports": LongList("host ports of one container", host_ports),
        "host-ports-apart": LongList("containers with a host port each", host_ports_apart),
        "containers": LongList("containers", containers),
        "requesting": LongList(
            "containers with requests",
            lambda n: containers(n, resources={"requests": {"cpu": "1u", "memory": "1"}}),
        ),
        "init-containers": LongList("init containers", lambda n: containers(n, "initContainers")),
        "sidecars": LongList(
            "sidecars with requests",
            lambda n: containers(
                n, "initContainers", restartPolicy="Always", resources={"requests": {"cpu": "1u", "memory": "1"}}
            ),
        ),
        "resources": LongList("resources that a container requests", resources),
        "environment": LongList("variables of a container", environment),
        "volumes": LongList("volumes", lambda n: volumes(n, emptyDir={})),
        "claims": LongList("volumes with a claim", lambda n: volumes(n, persistentVolumeClaim={"claimName": "c"})),
        "pod-labels": LongList("labels of a pod", lambda n: {"metadata": {"labels": labels(n)}}),
        "annotations": LongList("annotations of a pod", lambda n: {"metadata": {"annotations": labels(n)}}),
        "owners": LongList("owners of a pod", owners),
        "finalizers": LongList("finalizers", lambda n: {"metadata": {"finalizers": texts(n, "example.com/f")}}),
        "managed-fields": LongList("managed fields", managed_fields),
        "gates": LongList(
            "scheduling gates", lambda n: {"spec": {"schedulingGates": [{"name": gate} for gate in texts(n, "g")]}}
        ),
        "taints": LongList(
            "taints of a node",
            lambda n: {"spec": {"taints": [{"key": key, "effect": "PreferNoSchedule"} for key in texts(n, "k")]}},
            kind="Node",
        ),
        "images": LongList(
            "images of a node",
            lambda n: {"status": {"images": [{"names": [f"i{i}:1"], "sizeBytes": 1} for i in range(n)]}},
            kind="Node",
        ),
        "node-labels": LongList("labels of a node", lambda n: {"metadata": {"labels": labels(n)}}, kind="Node"),
        "node-resources": LongList(
            "resources of a node",
            lambda n: {"status": {"allocatable": {f"example.com/r{i}": "1" for i in range(n)}}},
            kind="Node",
        ),
    }
)


def merged(base: Object, patch: Object) -> Object:
    """``base`` with the fields of ``patch``, map by map; a list replaces a list."""
    result = dict(base)
    for key, value in patch.items():
        before = result.get(key)
        result[key] = merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return result


def pod(name: str, patch: Object, namespace: str = "cost", scheduler: str = "default-scheduler") -> Object:
    """An ordinary pod with ``patch``."""
    base = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulerName": scheduler, "containers": [container()]},
    }
    return merged(base, patch)


def node(name: str, number: int, patch: Object) -> Object:
    """An ordinary node, in one of three zones, with ``patch``."""
    base = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, ZONE: f"zone-{number % 3}"}},
        "spec": {},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }
    return merged(base, patch)
