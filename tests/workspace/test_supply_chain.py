"""Content of the image: the files that the lock names and no others, under licences that are written down."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
import yaml

from tools.supply_chain import notices
from tools.supply_chain.requirements import NotInLockError, cut, entries

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()


def make_wheel(directory: Path) -> str:
    """Write a package ``tiny`` as a wheel; return its hash."""
    metadata = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
    files = {
        "tiny.py": "",
        "tiny-1.0.dist-info/METADATA": metadata,
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(directory / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        record = ""
        for name, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(text)}\n"
            wheel.writestr(name, text)
        wheel.writestr("tiny-1.0.dist-info/RECORD", f"{record}tiny-1.0.dist-info/RECORD,,\n")
    return hashlib.sha256((directory / "tiny-1.0-py3-none-any.whl").read_bytes()).hexdigest()


@pytest.mark.parametrize("is_changed", [False, True], ids=["as-locked", "changed"])
def test_wheels_are_those_of_the_lock_or_there_are_none(tmp_path: Path, is_changed: bool) -> None:
    """With the real pip and script; the index is a directory, and the resolver one that knows its only package."""
    digest = make_wheel(tmp_path)
    lock = tmp_path / "requirements.lock"
    lock.write_text(f"tiny==1.0 \\\n    --hash=sha256:{'0' * 64 if is_changed else digest}\n")
    resolver = tmp_path / "uv"
    resolver.write_text('#!/bin/sh\n[ "$1" = pip ] || exit 0\nfor last; do :; done\necho tiny==1.0 >"$last"\n')
    resolver.chmod(0o755)
    (pip,) = ROOT.glob(".tools/uv-*/bin/pip")
    environment = {
        **os.environ,
        "UV": str(resolver),
        "PIP": str(pip),
        "IMAGE_PYTHON": "3.13",
        "LOCK": str(lock),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
    }
    made = tmp_path / "made"
    run = subprocess.run(
        ["sh", "image/wheels.sh", str(made)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (run.returncode == 0) is not is_changed, run.stderr
    assert [wheel.name for wheel in made.glob("*.whl")] == ([] if is_changed else ["tiny-1.0-py3-none-any.whl"])
    assert ("DO NOT MATCH THE HASHES" in run.stderr) is is_changed


def test_every_entry_of_the_lock_has_its_hashes() -> None:
    pins = re.findall(r"^([A-Za-z0-9._-]+==[^ \n]+)", LOCK, re.MULTILINE)
    assert sorted(entries(LOCK)) == sorted(pins)
    assert LOCK.count("--hash=") == sum(entry.count("--hash=") for entry in entries(LOCK).values())


def test_what_the_lock_has_not_is_not_taken_from_elsewhere() -> None:
    with pytest.raises(NotInLockError, match=r"tiny==1\.0 is needed by the image and not in the lock"):
        list(cut(LOCK, ["tiny==1.0"]))


def test_uv_is_pinned_with_hashes_where_it_is_installed_from() -> None:
    (pin,) = entries((ROOT / "requirements-uv.txt").read_text())
    assert (ROOT / f".tools/{pin.replace('==', '-')}/bin/uv").exists()
    assert "--require-hashes -r requirements-uv.txt" in (ROOT / "Makefile").read_text()


def test_the_notices_are_those_of_the_packages_in_the_image() -> None:
    assert (ROOT / "THIRD_PARTY_NOTICES.md").read_text() == notices.page(), "run 'make notices'"
    assert "THIRD_PARTY_NOTICES.md" in (ROOT / "Dockerfile").read_text()


def test_every_pinned_kind_of_dependency_is_looked_after() -> None:
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text())["updates"]
    assert {update["package-ecosystem"] for update in updates} == {"pip", "gomod", "docker"}


@pytest.mark.parametrize(
    ("image", "release", "code"),
    [
        pytest.param("python:3.13-slim", "", 0, id="tag"),
        pytest.param("python:3.13-slim", "1", 2, id="tag-for-a-release"),
        pytest.param(f"python:3.13-slim@sha256:{'1' * 64}", "1", 0, id="digest-for-a-release"),
    ],
)
def test_a_release_is_built_from_a_base_image_with_a_digest(
    tmp_path: Path, image: str, release: str, code: int
) -> None:
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\necho built "$@"\n')
    docker.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    run = subprocess.run(
        ["make", "--no-print-directory", "image", "--assume-old=wheels", f"BASE_IMAGE={image}", f"RELEASE={release}"],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == code, run.stderr
    assert ("is a tag" in run.stdout) is ("@" not in image)
    assert ("built build" in run.stdout) is (code == 0)
