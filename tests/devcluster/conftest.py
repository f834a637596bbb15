"""A home of its own for each test of devcluster, and a fake Go."""

import os
from pathlib import Path

import pytest

from tests.devcluster.fake_go import FakeGo


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty directories for the cache and the state, and no settings of the user."""
    for variable in ("DEVCLUSTER_BIN", "KUBEBUILDER_ASSETS", "GOFLAGS", "GOTOOLCHAIN", "GOPROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("DEVCLUSTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DEVCLUSTER_STATE", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def go(home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    """A fake Go, first in PATH."""
    fake = FakeGo.install(home / "fake-go")
    monkeypatch.setenv("PATH", f"{fake.directory}{os.pathsep}{os.environ['PATH']}")
    return fake
