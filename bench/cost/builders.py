"""Pods and nodes for the bench of costs: ordinary ones, and the fields that make them long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
WEIGHT = 1


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


def room(cpu: str) -> Object:
    """The part of a container that requests so many cores."""
    return {"resources": {"requests": {"cpu": cpu}}}


def in_vain(patch: Object) -> Object:
    """``patch`` with a request that no node has room for: two cores are free, and two more after preemption."""
    spec = patch.get("spec", {})
    more: Object = {"priority": 10}
    if "resources" in spec:
        more["resources"] = {"requests": {"cpu": "6"}, "limits": {"cpu": "6"}}
    else:
        more["containers"] = [*spec.get("containers", ()), {"name": "large", "image": "none", **room("6")}]
    return merged(patch, {"spec": more})


# Fields with as many entries as there are numbers.


def spread(numbers: range, action: str, key: str = "l{}", **more: Any) -> Object:
    constraints = [
        {"maxSkew": 1, "topologyKey": key.format(index), "whenUnsatisfiable": action, **more} for index in numbers
    ]
    return {"spec": {"topologySpreadConstraints": constraints}}


def one_constraint(**fields: Any) -> Object:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **fields}
    return {"spec": {"topologySpreadConstraints": [constraint]}}


def selector(index: int) -> Object:
    return {"matchLabels": {"app": f"a{index}"}}


def affinity(kind: str, when: str, entries: Object | list[Object]) -> Object:
    return {"spec": {"affinity": {kind: {when: entries}}}}


def pod_terms(kind: str, numbers: range, key: str = HOST, **more: Any) -> Object:
    terms = [{"topologyKey": key.format(index), "labelSelector": selector(index), **more} for index in numbers]
    return affinity(kind, REQUIRED, terms)


def preferred_pod_terms(kind: str, numbers: range, key: str = HOST) -> Object:
    terms = [
        {"weight": WEIGHT, "podAffinityTerm": {"topologyKey": key.format(index), "labelSelector": selector(index)}}
        for index in numbers
    ]
    return affinity(kind, PREFERRED, terms)


def one_pod_term(**term: Any) -> Object:
    return affinity("podAntiAffinity", REQUIRED, [{"topologyKey": HOST, "labelSelector": selector(0), **term}])


def one_preferred_pod_term(**term: Any) -> Object:
    weighted = {"topologyKey": HOST, "labelSelector": selector(0), **term}
    return affinity("podAffinity", PREFERRED, [{"weight": WEIGHT, "podAffinityTerm": weighted}])


def expressions(numbers: range, operator: str = "NotIn") -> list[Object]:
    values = {"values": ["v"]} if operator in ("In", "NotIn") else {}
    return [{"key": f"k{index}", "operator": operator, **values} for index in numbers]


def texts(numbers: range, prefix: str = "v") -> list[str]:
    return [f"{prefix}{index}" for index in numbers]


def labels(numbers: range) -> dict[str, str]:
    return {f"k{index}": f"v{index}" for index in numbers}


def node_terms(numbers: range) -> Object:
    terms = [{"matchExpressions": [{"key": f"k{index}", "operator": "DoesNotExist"}]} for index in numbers]
    return affinity("nodeAffinity", REQUIRED, {"nodeSelectorTerms": terms})


def named_nodes(numbers: range) -> Object:
    """One of many nodes, as one term for each name."""
    by_name = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{i}"]}]} for i in numbers]
    first = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-0"]}]}
    return affinity("nodeAffinity", REQUIRED, {"nodeSelectorTerms": [first, *by_name]})


def one_node_term(requirements: list[Object], field: str = "matchExpressions") -> Object:
    return affinity("nodeAffinity", REQUIRED, {"nodeSelectorTerms": [{field: requirements}]})


def preferred_node_terms(numbers: range) -> Object:
    terms = [
        {"weight": WEIGHT, "preference": {"matchExpressions": [{"key": f"k{index}", "operator": "DoesNotExist"}]}}
        for index in numbers
    ]
    return affinity("nodeAffinity", PREFERRED, terms)


def one_preferred_node_term(requirements: list[Object]) -> Object:
    preference = {"matchExpressions": requirements}
    return affinity("nodeAffinity", PREFERRED, [{"weight": WEIGHT, "preference": preference}])


def tolerations(numbers: range) -> Object:
    return {"spec": {"tolerations": [{"key": f"k{index}", "operator": "Exists"} for index in numbers]}}


def container(name: str = "c", **more: Any) -> Object:
    return {"name": name, "image": "none", **more}


def one_container(**more: Any) -> Object:
    return {"spec": {"containers": [container(**more)]}}


def containers(numbers: range, field: str = "containers", **more: Any) -> Object:
    main = {} if field == "containers" else {"containers": [container("main")]}
    return {"spec": {field: [container(f"c{index}", **more) for index in numbers], **main}}


def host_port(index: int) -> Object:
    return {"containerPort": index, "hostPort": index}


def host_ports(numbers: range) -> Object:
    return one_container(ports=[host_port(index) for index in numbers])


def host_ports_apart(numbers: range) -> Object:
    return {"spec": {"containers": [container(f"c{index}", ports=[host_port(index)]) for index in numbers]}}


def amounts(numbers: range, amount: str = "0") -> dict[str, str]:
    return {f"example.com/r{index}": amount for index in numbers}


def resources(numbers: range, amount: str = "0") -> Object:
    return {"requests": amounts(numbers, amount), "limits": amounts(numbers, amount)}


def resources_of_many(numbers: range, field: str = "containers", **more: Any) -> Object:
    """A container with many resources, and many containers with one each."""
    half = len(numbers) // 2
    first = container("first", resources=resources(numbers[:half]), **more)
    one = {"requests": {"cpu": "1u"}}
    others = [container(f"c{index}", resources=one, **more) for index in numbers[half:]]
    main = {} if field == "containers" else {"containers": [container("main")]}
    return {"spec": {field: [first, *others], **main}}


def pod_level_resources(numbers: range) -> Object:
    """Resources of the pod as a whole, of which only these may be many."""
    pages = {f"hugepages-{index}Ki": "0" for index in numbers}
    return {"spec": {"resources": {"requests": {"cpu": "1m", **pages}, "limits": {"cpu": "1m", **pages}}}}


def managed_fields(numbers: range) -> Object:
    return {"metadata": {"managedFields": [managed_by("m", {f"f:k{index}": {} for index in numbers})]}}


def managers(numbers: range) -> Object:
    entries = [managed_by(f"m{index}", {"f:k": {}}, operation="Apply") for index in numbers]
    return {"metadata": {"managedFields": entries}}


def managed_by(manager: str, fields: Object, operation: str = "Update") -> Object:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": fields}},
    }


def owners(numbers: range) -> Object:
    references = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"r{index}", "uid": f"u{index}"} for index in numbers
    ]
    return {"metadata": {"ownerReferences": references}}


def finalizers(numbers: range) -> Object:
    return {"metadata": {"finalizers": texts(numbers, "example.com/f")}}


def volumes(numbers: range, source: Callable[[int], Object]) -> Object:
    return {"spec": {"volumes": [{"name": f"v{index}", **source(index)} for index in numbers]}}


def mounts(numbers: range) -> Object:
    mounted = [{"name": "v", "mountPath": f"/m{index}"} for index in numbers]
    return {"spec": {"volumes": [{"name": "v", "emptyDir": {}}], "containers": [container(volumeMounts=mounted)]}}


def resource_claims(numbers: range) -> Object:
    claims = [{"name": f"c{index}", "resourceClaimName": f"claim-{index}"} for index in numbers]
    return {"spec": {"resourceClaims": claims}}


def environment(numbers: range) -> Object:
    return one_container(env=[{"name": f"E{index}", "value": "v"} for index in numbers])


def container_statuses(numbers: range, name: str = "c{}") -> Object:
    """What runs: each with resources, so that they count."""
    requests = {"requests": {"cpu": "1u", "memory": "1"}}
    statuses = [
        {
            "name": name.format(index),
            "image": "none",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "resources": requests,
            "allocatedResources": requests["requests"],
        }
        for index in numbers
    ]
    return {"status": {"containerStatuses": statuses}}


def allocated_resources(numbers: range) -> Object:
    (status,) = container_statuses(range(1), "c")["status"]["containerStatuses"]
    allocated = {"allocatedResources": amounts(numbers), "resources": {"requests": amounts(numbers)}}
    return {"status": {"containerStatuses": [{**status, **allocated}]}}


def conditions(numbers: range) -> Object:
    return {"status": {"conditions": [{"type": f"example.com/t{index}", "status": "True"} for index in numbers]}}


def images(numbers: range) -> Object:
    return {"status": {"images": [{"names": [f"i{index}:1"], "sizeBytes": 50_000_000} for index in numbers]}}


def volumes_on_node(numbers: range) -> Object:
    names = texts(numbers, "kubernetes.io/csi/v")
    attached = [{"name": name, "devicePath": "/dev/d"} for name in names]
    return {"status": {"volumesInUse": names, "volumesAttached": attached}}


def taints(numbers: range, effect: str = "PreferNoSchedule") -> Object:
    return {"spec": {"taints": [{"key": key, "effect": effect} for key in texts(numbers, "k")]}}


def offers(numbers: range) -> Object:
    return {"status": {"allocatable": amounts(numbers, "1")}}


def labelled(numbers: range) -> Object:
    return {"metadata": {"labels": labels(numbers)}}


def nothing(_: range) -> Object:
    return {}
