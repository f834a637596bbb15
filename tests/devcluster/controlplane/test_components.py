"""Command lines and files that components are given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devcluster import Spec
from devcluster.controlplane import components
from devcluster.controlplane.components import USERS, Ports, Site
from devcluster.controlplane.credentials import Credentials
from devcluster.node.config import Config

BINARIES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


def site(spec: Spec) -> Site:
    credentials = Credentials(Path("/d/credentials"), dict.fromkeys(USERS, "token"))
    return Site(spec, Path("/d"), {name: Path("/bin") / name for name in BINARIES}, credentials, Ports(1, 2, 3))


def test_the_process_node_understands_its_configuration() -> None:
    images: dict[str, Any] = {
        "berth:dev": ["/v/bin/python", "-m"],
        "other:*": {"entrypoint": ("/bin/sh",), "path": "/tools"},
    }
    config = Config.from_json(components.node_config(site(Spec(images=images))))
    assert (config.server, config.node_name) == ("https://127.0.0.1:3", "process-0")
    assert config.images["berth:dev"].entrypoint == ("/v/bin/python", "-m")
    assert config.images["other:*"].path == "/tools"
    assert config.directory == Path("/d/node")


def test_the_stages_of_kwok_exist() -> None:
    stages = [arg.partition("=")[2] for arg in components.kwok(site(Spec())) if arg.startswith("--config=")]
    assert [Path(stage).name for stage in stages] == ["kwok.yaml", "node.yaml", "pod.yaml"]


def test_the_process_node_has_the_rights_of_a_kubelet_and_no_more() -> None:
    assert (USERS["node"].name, USERS["node"].group) == ("system:node:process-0", "system:nodes")


@pytest.mark.parametrize(
    ("command_line", "spec"),
    [
        (components.etcd, Spec(etcd_args=("--last",))),
        (components.apiserver, Spec(apiserver_args=("--last",))),
        (components.controller_manager, Spec(kcm_args=("--last",))),
        (components.scheduler, Spec(scheduler_args=("--last",))),
    ],
    ids=["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"],
)
def test_arguments_of_the_user_come_last_and_so_win(command_line: Callable[[Site], list[str]], spec: Spec) -> None:
    arguments = command_line(site(spec))
    assert arguments[-1] == "--last"
    assert arguments[0].startswith("/bin/")


def test_admission_counts_on_a_controller_manager_only_where_there_is_one() -> None:
    without = components.apiserver(site(Spec(controller_manager=False)))
    assert "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition" in without
    assert not [flag for flag in components.apiserver(site(Spec())) if "disable-admission" in flag]


def test_only_the_binaries_of_a_cluster_are_built_for_it() -> None:
    assert Spec(scheduler=False, controller_manager=False).binaries == ("etcd", "kube-apiserver", "kubectl")
    assert set(Spec(fake_nodes=1).binaries) == {*BINARIES, "kubectl"}
    assert Spec(kind=True).binaries == ("kind", "kubectl")
