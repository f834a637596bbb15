"""Nodes with their images, and pods that run on them: as controllers create them and kubelets report them.

Each node has a pod of each of two DaemonSets; the others are of a hundred ReplicaSets. As in a real cluster, each pod
has a volume for its token under a name of its own, and one in fifty is not ready.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any

from bench.cluster.api import Request
from bench.workloads import Object

APPS = 100
AGENTS = 2
NAMESPACE = "bound"
IMAGES = 200
IMAGES_REPORTED = 50
"""The default limit of a kubelet (nodeStatusMaxImages)."""
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_SINCE = "2026-01-01T08:00:00Z"
_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
_UNREADY = frozenset({"Ready", "ContainersReady"})
_TOKEN = {
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
}


def with_images(nodes: Iterable[Request]) -> Iterator[Request]:
    """The requests that create ``nodes``, each with some of the two hundred images."""
    for number, (path, body) in enumerate(nodes):
        node = json.loads(body)
        node["status"]["images"] = [_image((7 * number + place) % IMAGES) for place in range(IMAGES_REPORTED)]
        yield path, json.dumps(node).encode()


def residents(of: Object, count: int, node_count: int) -> Iterator[Request]:
    """The requests that create ``count`` pods, spread evenly over the nodes."""
    for number in range(count):
        pod, owner = copy.deepcopy(of), _owner(number, node_count)
        labels = {"app": owner["name"], "pod-template-hash": "5d4f8c7b9"}
        pod["metadata"] = {"name": _name(number, node_count), "labels": labels, "ownerReferences": [owner]}
        node, token = f"scheduler-perf-{number % node_count}", f"kube-api-access-{number:05}"
        mount = {"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
        pod["spec"]["containers"] = [{**_container(of, number, node_count), "volumeMounts": [mount]}]
        volumes = [{"name": token, "projected": _TOKEN}]
        pod["spec"] |= {"nodeName": node, "serviceAccountName": "default", "volumes": volumes}
        if owner["kind"] == "DaemonSet":
            fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
            terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
            pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        yield _PODS, json.dumps(pod).encode()


def statuses(of: Object, count: int, node_count: int) -> Iterator[Request]:
    """The merge patches of the pods' statuses: all run, and one in fifty is not ready."""
    for number in range(count):
        container, is_ready = _container(of, number, node_count), number % 50 != 0
        host, address = _address(10, number % node_count), _address(100, number)
        status = {
            "phase": "Running",
            "startTime": _SINCE,
            "hostIP": host,
            "hostIPs": [{"ip": host}],
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [_condition(kind, is_ready) for kind in _CONDITIONS],
            "containerStatuses": [_container_status(container, number, is_ready)],
        }
        yield f"{_PODS}/{_name(number, node_count)}/status", json.dumps({"status": status}).encode()


def _image(number: int) -> dict[str, Any]:
    repository = f"registry.example.com/team-{number % 20}/application-{number}"
    return {"names": [f"{repository}@sha256:{number:064x}", f"{repository}:v1.{number}.0"], "sizeBytes": 10**8 + number}


def _app(number: int, node_count: int) -> int:
    """The number of the workload that a pod is of; those of DaemonSets come first."""
    turn = number // node_count
    return turn if turn < AGENTS else AGENTS + number % APPS


def _owner(number: int, node_count: int) -> dict[str, Any]:
    app = _app(number, node_count)
    kind, name = ("DaemonSet", f"agent-{app}") if app < AGENTS else ("ReplicaSet", f"app-{app}-5d4f8c7b9")
    uid = f"00000000-0000-4000-8000-{app:012}"
    whose = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid}
    return {**whose, "controller": True, "blockOwnerDeletion": True}


def _name(number: int, node_count: int) -> str:
    return f"{_owner(number, node_count)['name']}-{number:06}"


def _container(of: Object, number: int, node_count: int) -> dict[str, Any]:
    app, (container,) = _app(number, node_count), of["spec"]["containers"]
    amounts = {"cpu": f"{50 + app}m", "memory": "500Mi"}
    return {**container, "image": _image(app)["names"][1], "resources": {"requests": amounts, "limits": amounts}}


def _condition(kind: str, is_ready: bool) -> dict[str, Any]:
    times = {"lastProbeTime": None, "lastTransitionTime": _SINCE, "observedGeneration": 1}
    if is_ready or kind not in _UNREADY:
        return {"type": kind, "status": "True", **times}
    cause = {"reason": "ContainersNotReady", "message": "containers with unready status: [pause]"}
    return {"type": kind, "status": "False", **cause, **times}


def _container_status(container: dict[str, Any], number: int, is_ready: bool) -> dict[str, Any]:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"{container['image']}@sha256:{1:064x}",
        "containerID": f"containerd://{number:064x}",
        "ready": is_ready,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": _SINCE}},
        "lastState": {},
        "resources": container["resources"],
        "allocatedResources": container["resources"]["requests"],
    }


def _address(network: int, number: int) -> str:
    return f"{network}.{number >> 16}.{number >> 8 & 255}.{number & 255}"
