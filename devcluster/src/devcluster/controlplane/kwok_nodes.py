"""Nodes that exist in the API only; kwok keeps them Ready and plays the part of their kubelets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from devcluster.controlplane.components import FAKE_NODE, FAKE_NODE_ADDRESS, USERS
from devcluster.model.api import AdminApi

CONNECTIONS = 16
ZONES = 3
RESOURCES = {"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}
VERSION = "kwok"  # in place of each version that a real node reports
NODE_INFO = {
    "architecture": "amd64",
    "operatingSystem": "linux",
    **dict.fromkeys(("kubeletVersion", "kubeProxyVersion", "containerRuntimeVersion", "kernelVersion"), VERSION),
    **dict.fromkeys(("osImage", "bootID", "machineID", "systemUUID"), ""),
}
POLICY_NAME = "kwok-ends-deleted-pods-only"
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": POLICY_NAME},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["DELETE"]}
            ]
        },
        "matchConditions": [{"name": "kwok", "expression": f"request.userInfo.username == '{USERS['kwok'].name}'"}],
        "validations": [
            {
                "expression": "has(oldObject.metadata.deletionTimestamp)",
                "message": "this pod is not being deleted: it has the name of one that was",
            }
        ],
    },
}
"""A restraint on kwok, which ends a deleted pod by its name, without a uid.

If that pod has gone meanwhile, its successor of the same name, which nobody has deleted, would end in its place.
"""
BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": POLICY_NAME},
    "spec": {"policyName": POLICY_NAME, "validationActions": ["Deny"]},
}
READY = {"type": "Ready", "status": "True", "reason": "FakeNode", "message": "kept Ready by kwok"}


def fake_node(number: int) -> dict[str, Any]:
    """The node ``kwok-<number>`` as it is sent to the API server."""
    name = f"kwok-{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": f"zone-{number % ZONES}",
        "type": "kwok",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": dict([FAKE_NODE])},
        "status": {
            "capacity": RESOURCES,
            "allocatable": RESOURCES,
            "conditions": [READY],
            "addresses": [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": FAKE_NODE_ADDRESS}],
            "nodeInfo": NODE_INFO,
        },
    }


def create(api: AdminApi, count: int) -> None:
    """Create the nodes kwok-0 to kwok-(count - 1), take the not-ready taint off them, and restrain kwok.

    A node is born with the taint not-ready, which the controller manager takes off those that are
    Ready, some ninety a second. So it is taken off here; the controller manager then has nothing to do.
    """

    for collection, manifest in (("policies", POLICY), ("policybindings", BINDING)):
        api.post(f"/apis/admissionregistration.k8s.io/v1/validatingadmission{collection}", manifest)

    def create_one(number: int) -> None:
        api.post("/api/v1/nodes", fake_node(number))
        api.merge(f"/api/v1/nodes/kwok-{number}", {"spec": {"taints": None}})

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for _ in pool.map(create_one, range(count)):
            pass


def are_usable(api: AdminApi, count: int) -> bool:
    """True when all nodes are Ready and without the not-ready taint that a new node has."""
    nodes = api.get("/api/v1/nodes?labelSelector=type%3Dkwok&resourceVersion=0")["items"]
    return sum(map(is_usable, nodes)) >= count


def is_usable(node: dict[str, Any]) -> bool:
    conditions = node["status"].get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and not node["spec"].get("taints")
