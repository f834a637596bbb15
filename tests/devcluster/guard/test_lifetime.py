"""Clusters end with their maker, in whatever way that ends, or by ``down``; no process or file remains."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster import DevclusterError, Spec, down, find, status, up
from devcluster.guard import Guard
from devcluster.lifecycle import remove_abandoned
from devcluster.system.processes import Process
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster

SMALL = Spec(node="none", scheduler=False, controller_manager=False)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "sleeper"},
    "spec": {"containers": [{"name": "main", "image": "devcluster/pause"}]},
}
# Makes a cluster with a process node and a pod on it, says where it is, and waits to be taken away.
PARENT = f"""
import json, sys, time
import devcluster
with devcluster.running(devcluster.Spec(name="parented")) as cluster:
    cluster.kubectl("apply", "-f", "-", input={json.dumps(POD)!r})
    cluster.kubectl("wait", "--for=condition=Ready", "pod/sleeper", "--timeout=30s")
    print(cluster.directory, flush=True)
    time.sleep(300)
"""


@pytest.fixture
def parent() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


@pytest.fixture
def state(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty state directory, and the cache and binaries of this machine."""
    monkeypatch.undo()
    monkeypatch.setenv("DEVCLUSTER_STATE", str(home / "state"))
    yield home / "state"
    for one in status():
        down(one.name)


def users_of(directory: Path) -> list[Process]:
    """Every process that has to do with a cluster: it names its directory, or works there."""
    processes = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (process := Process.of(int(entry.name))):
            try:
                content = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                content += str((entry / "cwd").readlink()).encode()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if str(directory).encode() in content:
                processes.append(process)
    return processes


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_running_cluster_and_its_pods_end_with_their_parent(
    parent: tuple[subprocess.Popen[str], Path], number: signal.Signals
) -> None:
    process, directory = parent
    before = users_of(directory)
    assert len(before) >= 7  # guard, etcd, API server, controller manager, scheduler, node, pod
    process.send_signal(number)
    process.wait()
    eventually(lambda: not users_of(directory), 10, every=0.05)
    eventually(lambda: not directory.exists(), 10, every=0.05)


def test_nothing_outlives_a_guard_that_is_killed(parent: tuple[subprocess.Popen[str], Path]) -> None:
    process, directory = parent
    entry = json.loads((directory / "guard.json").read_text())
    Process(entry["pid"], entry["started"]).send(signal.SIGKILL)
    eventually(lambda: not users_of(directory), 10, every=0.05)
    process.kill()
    process.wait()
    assert directory.exists()  # nobody was left to remove it
    remove_abandoned()
    assert not directory.exists()


def test_a_cluster_is_listed_and_usable_from_up_until_down(state: Path) -> None:
    cluster = up(SMALL)
    assert find("default") == cluster
    (listed,) = status()
    assert (listed.name, listed.server, listed.version) == ("default", cluster.server, "v1.36.4")
    assert (listed.is_alive, set(listed.components)) == (True, {"etcd", "kube-apiserver"})
    with pytest.raises(
        DevclusterError, match="already a cluster default: use it, end it with 'devcluster down default'"
    ):
        up(SMALL)
    find("default").kubectl("get", "namespaces")
    processes = users_of(cluster.directory)
    down("default")
    assert not any(process.is_alive for process in processes)
    assert [path.name for path in state.iterdir()] == ["lock"]
    assert status() == []


def test_a_cluster_that_lost_its_guard_is_reported_and_replaced(state: Path) -> None:
    cluster = up(SMALL)
    entry = json.loads((cluster.directory / "guard.json").read_text())
    guard = Process(entry["pid"], entry["started"])
    guard.send(signal.SIGKILL)
    assert guard.ended(within_seconds=10)
    assert [one.is_alive for one in status()] == [False]
    with pytest.raises(DevclusterError, match="no longer runs: remove it with 'devcluster down default'"):
        find("default")
    again = up(SMALL)
    assert again.server != cluster.server
    assert Guard(again.directory).is_alive


def test_of_two_that_take_a_name_at_once_one_gets_it(state: Path) -> None:
    program = (
        "import devcluster; devcluster.up(devcluster.Spec(node='none', scheduler=False, controller_manager=False))"
    )
    rivals = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [rival.communicate()[1] for rival in rivals]
    assert sorted(rival.returncode for rival in rivals) == [0, 1]
    assert sum("there is already a cluster default" in words for words in errors) == 1
    find("default").kubectl("get", "namespaces")


def test_a_directory_that_cannot_hold_clusters_is_reported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    (home / "file").write_text("")
    monkeypatch.setenv("DEVCLUSTER_STATE", str(home / "file"))
    with pytest.raises(DevclusterError, match=r"a cluster cannot be made in .*file .*see that there is room"):
        up(SMALL)


def test_an_up_that_fails_leaves_nothing(state: Path) -> None:
    with pytest.raises(DevclusterError, match="unknown flag"):
        up(Spec(node="none", apiserver_args=("--nonsense",)))
    assert status() == []


@pytest.mark.parametrize("name", ["nobody", "default"])
def test_a_cluster_that_does_not_exist_is_reported(state: Path, name: str) -> None:
    with pytest.raises(DevclusterError, match=f"there is no cluster {name}: make one with 'devcluster up'"):
        down(name)


@pytest.mark.parametrize("name", ["..", "a/b", "Upper", "-x", "", "x" * 41])
def test_a_name_that_could_lead_elsewhere_is_refused(state: Path, name: str) -> None:
    with pytest.raises(DevclusterError, match="cannot be the name of a cluster"):
        down(name)
