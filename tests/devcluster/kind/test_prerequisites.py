"""The check that kind can be used, and the sentence when it cannot."""

import json
import os
from pathlib import Path

import pytest

from devcluster.build import products
from devcluster.kind import prerequisites


def install(directory: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make ``name`` a program that does ``script``, and the only one in PATH."""
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))


def test_every_version_that_can_be_built_has_an_official_image_with_a_digest() -> None:
    images = json.loads(prerequisites.OFFICIAL_IMAGES.read_text())
    assert set(images) == set(products.kubernetes_versions())
    for minor, image in images.items():
        assert image.startswith(f"kindest/node:v{minor}.")
        assert len(image.partition("@sha256:")[2]) == 64


def test_official_images_are_used_where_docker_can_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "docker", '[ "$1" != image ]', monkeypatch)
    assert prerequisites.missing() is None
    image = prerequisites.official_image("1.36")
    assert image is not None
    assert image.startswith("kindest/node:v1.36.")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exit 1", id="no-daemon"),
        pytest.param('[ "$1" = info ]', id="no-registry"),
    ],
)
def test_official_images_are_not_used_where_docker_cannot_have_them(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "docker", script, monkeypatch)
    assert prerequisites.official_image("1.36") is None


def test_without_docker_and_root_the_reason_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "docker", "exit 1", monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    reason = prerequisites.missing()
    assert reason is not None
    assert "Docker" in reason
    assert "run it as root" in reason


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gets as far as the packages")
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "docker", "exit 1", monkeypatch)
    monkeypatch.setattr(prerequisites, "NEEDED_CAPABILITIES", {})
    monkeypatch.setattr(prerequisites, "has_cgroup_v1", lambda: True)
    reason = prerequisites.missing()
    assert reason is not None
    assert "mmdebstrap" in reason
    assert "make node-prerequisites" in reason


def test_nothing_is_installed_where_packages_would_not_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "docker", "exit 1", monkeypatch)
    install(tmp_path, "apt-get", f"touch {tmp_path}/called", monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    prerequisites.install()
    assert not (tmp_path / "called").exists()
