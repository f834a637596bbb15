"""The command: what it prints, and how it says what went wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from devcluster import Spec, lifecycle
from devcluster.cli import main
from tests.devcluster.fake_go import FakeGo


def devcluster(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["up", "--kubernetes", "1.12"], "Kubernetes 1.12 is not one that can be built here: choose one of 1.35 ("),
        (["up", "--name", "A"], "'A' cannot be the name of a cluster: use up to 40 lower-case letters"),
        (["up", "--fake-nodes", "-1"], "-1 fake nodes are not possible: give 0 or more"),
        (["up", "--kind", "--fake-nodes", "2"], "fake nodes are not for kind clusters"),
        (["up", "--kind", "--no-scheduler"], "a kind cluster always has kube-scheduler: leave out --no-scheduler"),
        (["up", "--kind", "--image", "a=/bin/b"], "commands stand for images on a process node"),
        (["down", "nobody"], "there is no cluster nobody: make one with 'devcluster up'"),
        (["env", "nobody"], "there is no cluster nobody: make one with 'devcluster up'"),
        (["down", "--name", "nobody"], "there is no cluster nobody: make one with 'devcluster up'"),
        (["env", "--name", "nobody"], "there is no cluster nobody: make one with 'devcluster up'"),
        (["env", "nobody", "--name", "nobody"], "there is no cluster nobody: make one with 'devcluster up'"),
        (["env"], "there is no cluster default: make one with 'devcluster up'"),
        (["build", "kubeblet"], "there is no binary 'kubeblet': choose from kube-apiserver, "),
        (["bin", "kubeblet"], "there is no binary 'kubeblet': choose from kube-apiserver, "),
    ],
)
def test_a_mistake_is_one_sentence_that_says_what_to_do(home: Path, arguments: list[str], sentence: str) -> None:
    result = devcluster(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {sentence}")
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("command", ["env", "down"])
def test_two_names_at_once_are_refused(home: Path, command: str) -> None:
    result = devcluster(command, "a", "--name", "b")
    assert result.exit_code == 2
    assert "a and --name b are two clusters; name one" in result.output


def test_a_wrong_option_is_reported_with_the_usage(home: Path) -> None:
    result = devcluster("up", "--node", "docker")
    assert result.exit_code == 2
    assert "'docker' is not one of 'process', 'none'" in result.output


@pytest.mark.parametrize("mapping", ["berth:dev", "=/bin/true", "berth:dev="])
def test_an_image_without_a_command_is_refused(home: Path, mapping: str) -> None:
    result = devcluster("up", "--image", mapping)
    assert result.exit_code == 2
    assert f"'{mapping}' maps nothing; write it like" in result.output


def test_an_image_s_command_is_a_path_from_where_it_was_typed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs: list[Spec] = []
    monkeypatch.setattr(lifecycle, "up", lambda spec, **_: specs.append(spec))
    devcluster("up", "--image", "berth:dev=bin/python -m x", "--image", "pause=sleep")
    assert specs[0].images == {"berth:dev": [str(Path("bin/python").absolute()), "-m", "x"], "pause": ["sleep"]}


@pytest.mark.parametrize(("flags", "scheduler"), [((), True), (("--no-scheduler",), False)])
def test_a_cluster_has_kube_scheduler_unless_told_otherwise(
    home: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], scheduler: bool
) -> None:
    specs: list[Spec] = []
    monkeypatch.setattr(lifecycle, "up", lambda spec, **_: specs.append(spec))
    devcluster("up", *flags)
    assert specs[0].scheduler is scheduler
    assert ("kube-scheduler" in specs[0].binaries) is scheduler


def test_build_prints_where_the_binaries_are(go: FakeGo, home: Path) -> None:
    result = devcluster("build", "--kubernetes", "1.35", "kube-scheduler", "etcd")
    assert result.exit_code == 0
    scheduler, etcd = result.stdout.split()
    assert "kubernetes-v1.35" in scheduler
    assert Path(scheduler).read_text() == Path(etcd).read_text() == "built by go 1.26.8"
    assert "Building kube-scheduler of kubernetes v1.35" in result.stderr


def test_bin_prints_a_path_or_the_directory(go: FakeGo, home: Path) -> None:
    kubectl = devcluster("bin", "kubectl").stdout.strip()
    assert kubectl.endswith("/kubectl")
    assert devcluster("bin").stdout.strip() == os.path.dirname(kubectl)


def test_without_clusters_status_names_the_command_that_makes_one(home: Path) -> None:
    assert devcluster("status").output == "There are no clusters. 'devcluster up' makes one.\n"
    assert devcluster("down", "--all").output == ""


@pytest.mark.cluster
def test_a_cluster_from_the_command_line_is_used_by_a_shell_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVCLUSTER_STATE", str(tmp_path))
    command = Path(sys.executable).parent / "devcluster"
    script = f"""
        set -e
        {command} up --name cli --node none 2>{tmp_path}/progress
        eval "$({command} env cli)"
        kubectl get namespace default -o name
        {command} status
        {sys.executable} -c "import devcluster; devcluster.find('cli').stop('etcd')"
        {command} status
        {command} down cli
    """
    shell = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True, env={**os.environ})
    first, *_, namespace, listed, hurt, last = shell.stdout.splitlines()
    assert first.startswith("Cluster cli runs Kubernetes v1.36.4 at https://127.0.0.1:")
    assert namespace == "namespace/default"
    assert listed.startswith("cli  running  v1.36.4  https://127.0.0.1:")
    assert hurt.startswith("cli  running without etcd  v1.36.4  ")
    assert last == "Cluster cli is gone."
    assert not (tmp_path / "cli").exists()
