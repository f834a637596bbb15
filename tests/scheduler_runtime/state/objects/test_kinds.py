"""Decoding of objects from the API server: needed fields are read, all others skipped."""

from __future__ import annotations

import json

import msgspec
import pytest

from scheduler_runtime.kube.watch import kinds
from scheduler_runtime.state import objects

POD = {
    "metadata": {
        "name": "web-0",
        "namespace": "shop",
        "uid": "1-2-3",
        "resourceVersion": "77",
        "labels": {"app": "web"},
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "containers": [{"name": "web", "image": "nginx", "ports": [{"hostPort": 80, "hostIP": "10.0.0.1"}]}],
        "schedulerName": "bin-packing",
        "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "b", "configMap": {"name": "settings"}},
        ],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}},
        "aFieldFromTheFuture": {"deep": [1, 2, {"x": None}]},
    },
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    },
}


def test_a_pod_keeps_what_is_read() -> None:
    pod = objects.decode_pod(json.dumps(POD).encode())
    assert (pod.key, pod.uid, pod.metadata.resource_version) == ("shop/web-0", "1-2-3", "77")
    assert pod.spec.scheduler_name == "bin-packing"
    assert pod.spec.containers[0].ports == (objects.ContainerPort(host_port=80, host_ip="10.0.0.1"),)
    assert [bool(volume.persistent_volume_claim) for volume in pod.spec.volumes] == [True, False]
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.pod_anti_affinity is not None
    assert len(pod.spec.affinity.pod_anti_affinity.required) == 1
    assert pod.status.conditions[0].reason == "Unschedulable"


def test_a_pod_survives_being_written_and_read() -> None:
    pod = objects.decode_pod(json.dumps(POD).encode())
    encoded = msgspec.json.encode(msgspec.structs.replace(pod, derived=None, terms=None))
    assert objects.decode_pod(encoded) == pod


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ({"type": "ADDED", "object": POD}, "ADDED"),
        ({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "99"}}}, "BOOKMARK"),
        ({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}, "ERROR"),
    ],
)
def test_a_line_of_a_watch_is_read_by_its_type(line: dict[str, object], kind: str) -> None:
    event = kinds.decode_event(json.dumps(line).encode())
    assert event.type == kind
    if kind == "ADDED":
        assert objects.decode_pod(event.object).name == "web-0"
    if kind == "BOOKMARK":
        assert event.bookmark() == "99"
    if kind == "ERROR":
        assert event.error() == kinds.Status(code=410, reason="Expired")


def test_a_page_of_a_list_tells_where_the_next_begins() -> None:
    page = objects.decode_pod_list(
        json.dumps({"metadata": {"resourceVersion": "5", "continue": "x"}, "items": [POD]}).encode()
    )
    assert (page.metadata.resource_version, page.metadata.continue_token, len(page.items)) == ("5", "x", 1)


def test_half_a_line_is_an_error_that_msgspec_names() -> None:
    with pytest.raises(msgspec.DecodeError):
        kinds.decode_event(b'{"type":"ADDED","object":{"metadata":{"na')
