"""The refusals of the process node, each with its field."""

from typing import Any

import pytest

from devcluster.node.config import Image
from devcluster.node.refusals import refusals

Object = dict[str, Any]

IMAGES = {"berth:dev": Image(entrypoint=("/venv/bin/python",)), "bare": Image(), "demo/*": Image(entrypoint=("true",))}
CONTAINER: Object = {"name": "main", "image": "berth:dev"}


def refused(container: Object | None = None, **spec: Any) -> list[tuple[str, str]]:
    pod = {"spec": {"containers": [{**CONTAINER, **(container or {})}], **spec}}
    return [(refusal.reason, refusal.message) for refusal in refusals(pod, IMAGES)]


def test_an_ordinary_restricted_pod_is_not_refused() -> None:
    container = {
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "readinessProbe": {"httpGet": {"port": 8080}},
        "workingDir": "/data/here",
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    volumes = [
        {"name": "data", "emptyDir": {}},
        {"name": "token", "projected": {"sources": [{"secret": {"name": "s"}}]}},
    ]
    assert refused(container, volumes=volumes, securityContext={"runAsNonRoot": True}) == []


@pytest.mark.parametrize("image", ["devcluster/pause", "demo/web:1"])
def test_a_built_in_or_matching_image_is_not_refused(image: str) -> None:
    assert refused({"image": image}) == []


def test_an_unknown_image_is_refused_as_by_a_kubelet_that_may_not_pull() -> None:
    assert refused({"image": "nginx"}) == [
        (
            "ErrImageNeverPull",
            "spec.containers[0].image: nginx stands for no local command on the process node; "
            "mapped are: bare, berth:dev, demo/*, devcluster/pause; 'devcluster up --image' maps more",
        )
    ]


@pytest.mark.parametrize(
    ("container", "spec", "sentence"),
    [
        ({}, {"hostNetwork": True}, "spec.hostNetwork: the process node does not share the host's namespaces"),
        ({}, {"hostPID": True}, "spec.hostPID: "),
        (
            {},
            {"volumes": [{"name": "logs", "hostPath": {"path": "/var/log"}}]},
            "spec.volumes[0] (logs): the process node has no hostPath volumes, only emptyDir, configMap",
        ),
        (
            {},
            {"volumes": [{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {}}]}}]},
            "spec.volumes[0] (v): the process node does not project clusterTrustBundle, only",
        ),
        ({"securityContext": {"privileged": True}}, {}, "spec.containers[0].securityContext.privileged: "),
        (
            {"securityContext": {"capabilities": {"add": ["SYS_ADMIN", "NET_BIND_SERVICE"]}}},
            {},
            "spec.containers[0].securityContext.capabilities.add: the process node cannot grant SYS_ADMIN",
        ),
        ({"ports": [{"containerPort": 80, "hostPort": 80}]}, {}, "spec.containers[0].ports: "),
        ({"workingDir": "/srv"}, {}, "spec.containers[0].workingDir: /srv is in no volume of this container"),
        ({"livenessProbe": {"grpc": {"port": 1}}}, {}, "spec.containers[0].livenessProbe: the process node knows only"),
        ({"lifecycle": {"postStart": {}}}, {}, "spec.containers[0].lifecycle.postStart: "),
        ({"image": "bare"}, {}, "spec.containers[0].command: bare is mapped without an entrypoint; give a command"),
        (
            {},
            {"initContainers": [{**CONTAINER, "restartPolicy": "Always"}]},
            "spec.initContainers[0].restartPolicy: the process node runs no sidecars",
        ),
    ],
)
def test_refuses(container: Object, spec: Object, sentence: str) -> None:
    [(reason, message)] = refused(container, **spec)
    assert reason == "CreateContainerConfigError"
    assert message.startswith(sentence)


def test_all_reasons_come_at_once() -> None:
    assert len(refused({"image": "nginx", "workingDir": "/srv"}, hostNetwork=True, hostIPC=True)) == 4
