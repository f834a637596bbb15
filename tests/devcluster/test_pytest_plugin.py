"""The plugin: cheap where nobody asks for a cluster, honest where none can be had."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.devcluster.fake_go import FakeGo

TEST = """
import pytest

@pytest.mark.cluster
def test_uses_a_cluster(cluster): pass

def test_uses_none(): pass
"""
OTHER_VERSION = """
import pytest

@pytest.mark.cluster(kubernetes="1.35", binaries=("kubelet",))
def test_needs_more(): pass
"""
OFFLINE = "k8s.io/api@v0.36.4: dial tcp: lookup proxy.example: no such host"
HEAVY = {"aiohttp", "cryptography", "click", "yaml", "ssl", "devcluster.lifecycle", "devcluster.build"}


def run_pytest(directory: Path, *options: str, test: str = TEST) -> subprocess.CompletedProcess[str]:
    (directory / "test_it.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "--rootdir", str(directory), *options]
    environment = {**os.environ, "COLUMNS": "2000"}  # so that no line is broken
    return subprocess.run([*command, "test_it.py"], cwd=directory, env=environment, capture_output=True, text=True)


def test_where_binaries_cannot_be_had_a_test_is_skipped_with_what_it_needs(go: FakeGo, tmp_path: Path) -> None:
    go.plan(failures={"list": OFFLINE})
    said = run_pytest(tmp_path).stdout
    assert "1 passed, 1 skipped" in said
    assert "needs the binaries of a control plane: the Go modules of " in said
    assert "no such host" in said


def test_any_other_trouble_is_no_reason_to_skip(go: FakeGo, tmp_path: Path) -> None:
    go.plan(failures={"build": "no space left on device"})
    answer = run_pytest(tmp_path)
    assert answer.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: the disk is too full to build in" in answer.stderr


def test_what_marked_tests_need_is_built_before_the_first_test(go: FakeGo, tmp_path: Path) -> None:
    answer = run_pytest(tmp_path, test=OTHER_VERSION)
    assert "1 passed" in answer.stdout
    assert "Building kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kubelet of" in answer.stderr
    assert all("kubernetes-1.35" in call["cwd"] for call in go.calls("build") if "kubelet" in str(call["argv"]))


def test_nothing_is_built_for_tests_that_are_not_run(go: FakeGo, tmp_path: Path) -> None:
    assert "1 passed, 1 deselected" in run_pytest(tmp_path, "-m", "not cluster").stdout
    assert "2 tests collected" in run_pytest(tmp_path, "--collect-only").stdout
    assert go.calls("list") == []


def test_loading_the_plugin_loads_nothing_else() -> None:
    program = "import pytest, sys; a = {*sys.modules}; import devcluster.pytest_plugin; print(*{*sys.modules} - a)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) & HEAVY == set()
    assert "devcluster.pytest_plugin" in loaded
