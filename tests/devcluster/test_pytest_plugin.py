"""The plugin: cheap where nobody asks for a cluster, honest where none can be had."""

import os
import subprocess
import sys
from pathlib import Path

from tests.devcluster.fake_go import FakeGo

TEST = "def test_uses_a_cluster(cluster): pass\n"
OFFLINE = "k8s.io/api@v0.36.4: dial tcp: lookup proxy.example: no such host"
HEAVY = {"aiohttp", "cryptography", "click", "yaml", "ssl", "devcluster.lifecycle", "devcluster.build"}


def run_pytest(directory: Path) -> subprocess.CompletedProcess[str]:
    (directory / "test_it.py").write_text(TEST)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rs",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(directory),
        "test_it.py",
    ]
    environment = {**os.environ, "COLUMNS": "2000"}  # so that no line is broken
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)


def test_where_binaries_cannot_be_had_a_test_is_skipped_with_what_it_needs(go: FakeGo, tmp_path: Path) -> None:
    go.plan(failures={"list": OFFLINE})
    said = run_pytest(tmp_path).stdout
    assert "1 skipped" in said
    assert "needs the binaries of a control plane: the Go modules of " in said
    assert "no such host" in said


def test_a_build_that_fails_is_a_failure_and_not_a_skip(go: FakeGo, tmp_path: Path) -> None:
    go.plan(failures={"build": "no space left on device"})
    said = run_pytest(tmp_path).stdout
    assert "1 error" in said
    assert "the disk is too full" in said


def test_a_build_is_shown_although_pytest_captures(go: FakeGo, tmp_path: Path) -> None:
    go.plan(failures={"build": "nothing works"})
    assert "Building etcd of etcd" in run_pytest(tmp_path).stderr


def test_loading_the_plugin_loads_nothing_else() -> None:
    program = "import pytest, sys; a = {*sys.modules}; import devcluster.pytest_plugin; print(*{*sys.modules} - a)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) & HEAVY == set()
    assert "devcluster.pytest_plugin" in loaded
