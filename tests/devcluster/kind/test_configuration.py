"""The configuration for kind."""

import json
from pathlib import Path
from typing import Any

import pytest

from devcluster import Cluster, DevclusterError, Spec
from devcluster.guard import Guard
from devcluster.kind import cluster, load_image
from devcluster.kind.private_daemon import Daemon


def patches(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    patches = [json.loads(patch) for patch in document["kubeadmConfigPatches"]]
    return {patch.pop("kind"): patch for patch in patches}


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    (tmp_path / "port").write_text("40123")
    return Daemon("one", tmp_path)


def test_the_first_node_is_the_control_plane_and_the_rest_are_workers() -> None:
    document = cluster.configuration(Spec(kind=True, name="one", nodes=3), None)
    assert [node["role"] for node in document["nodes"]] == ["control-plane", "worker", "worker"]
    assert document["name"] == "devcluster-one"


def test_with_official_images_only_the_kubelet_is_changed() -> None:
    document = cluster.configuration(Spec(kind=True, name="one"), None)
    assert patches(document) == {"KubeletConfiguration": {"syncFrequency": "1s"}}
    assert document["networking"] == {}


def test_a_private_daemon_brings_its_images_its_port_and_cgroup_v1(daemon: Daemon) -> None:
    document = cluster.configuration(Spec(kind=True, name="one"), daemon)
    assert patches(document)["ClusterConfiguration"] == {"imageRepository": "localhost/kind"}
    assert patches(document)["KubeletConfiguration"]["failCgroupV1"] is False
    assert document["networking"] == {"apiServerAddress": "127.0.0.1", "apiServerPort": 40123}


def test_a_private_daemon_is_the_only_one_its_commands_can_reach(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "elsewhere")
    monkeypatch.setenv("KIND_EXPERIMENTAL_PROVIDER", "podman")
    environment = daemon.environment()
    assert environment["DOCKER_HOST"] == "unix:///run/devcluster-one/docker.sock"
    assert not {"DOCKER_CONTEXT", "KIND_EXPERIMENTAL_PROVIDER"} & set(environment)


def test_a_name_that_makes_no_host_name_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(DevclusterError, match="use up to 38 characters"):
        cluster.create(Spec(kind=True, name="x" * 39), Guard(tmp_path), {}, lambda *_: None)


def test_images_go_into_kind_clusters_only(tmp_path: Path) -> None:
    plain = Cluster("plain", tmp_path, "https://127.0.0.1:1", tmp_path / "kubeconfig", "v1", b"", "")
    with pytest.raises(DevclusterError, match="plain is not a kind cluster"):
        load_image(plain, "localhost/x:1")
