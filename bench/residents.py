"""Nodes with their images, and pods that are on them already: as ReplicaSets make them and kubelets tell of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any

from bench.api import Request
from bench.workloads import Object

APPS = 100
NAMESPACE = "bound"
IMAGES = 200
IMAGES_TOLD = 50
"""No kubelet tells of more, unless it is told to."""
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_SINCE = "2026-01-01T08:00:00Z"
_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def with_images(nodes: Iterable[Request]) -> Iterator[Request]:
    """What creates ``nodes``, each with some of the two hundred images that there are."""
    for number, (path, body) in enumerate(nodes):
        node = json.loads(body)
        node["status"]["images"] = [_image((7 * number + place) % IMAGES) for place in range(IMAGES_TOLD)]
        yield path, json.dumps(node).encode()


def residents(of: Object, count: int, node_count: int) -> Iterator[Request]:
    """What creates ``count`` pods of a hundred apps, spread evenly over the nodes."""
    for number in range(count):
        pod = copy.deepcopy(of)
        pod["metadata"] = {"name": _name(number), "labels": _labels(number), "ownerReferences": [_owner(number)]}
        pod["spec"]["nodeName"] = f"scheduler-perf-{number % node_count}"
        yield _PODS, json.dumps(pod).encode()


def statuses(of: Object, count: int, node_count: int) -> Iterator[Request]:
    """What says of each of them that it runs, a merge patch."""
    for number in range(count):
        yield f"{_PODS}/{_name(number)}/status", json.dumps({"status": _status(of, number, node_count)}).encode()


def _image(number: int) -> dict[str, Any]:
    repository = f"registry.example.com/team-{number % 20}/application-{number}"
    return {"names": [f"{repository}@sha256:{number:064x}", f"{repository}:v1.{number}.0"], "sizeBytes": 10**8 + number}


def _app(number: int) -> str:
    return f"app-{number % APPS}"


def _name(number: int) -> str:
    return f"{_replica_set(number)}-{number:06}"


def _replica_set(number: int) -> str:
    return f"{_app(number)}-5d4f8c7b9"


def _labels(number: int) -> dict[str, str]:
    return {"app": _app(number), "pod-template-hash": "5d4f8c7b9"}


def _owner(number: int) -> dict[str, Any]:
    uid = f"00000000-0000-4000-8000-{number % APPS:012}"
    kind = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": _replica_set(number), "uid": uid}
    return {**kind, "controller": True, "blockOwnerDeletion": True}


def _status(of: Object, number: int, node_count: int) -> dict[str, Any]:
    host, address = _address(10, number % node_count), _address(100, number)
    when = {"lastProbeTime": None, "lastTransitionTime": _SINCE}
    return {
        "phase": "Running",
        "startTime": _SINCE,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": kind, "status": "True", "observedGeneration": 1, **when} for kind in _CONDITIONS],
        "containerStatuses": [_container(each, number) for each in of["spec"]["containers"]],
    }


def _container(container: Object, number: int) -> dict[str, Any]:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"{container['image']}@sha256:{1:064x}",
        "containerID": f"containerd://{number:064x}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": _SINCE}},
        "lastState": {},
        "resources": container["resources"],
        "allocatedResources": container["resources"]["requests"],
    }


def _address(network: int, number: int) -> str:
    return f"{network}.{number >> 16}.{number >> 8 & 255}.{number & 255}"
