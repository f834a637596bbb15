"""Debian file systems: whole in the cache, or not there. Here mmdebstrap is played; on real nodes it is real."""

import os
from pathlib import Path

import pytest

from devcluster import DevclusterError, MissingBinariesError
from devcluster.kind import debian

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can have mounts of its own")


def mmdebstrap(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a program of that name, its last argument the target, do ``script``."""
    program = directory / "mmdebstrap"
    program.write_text(f'#!/bin/sh\nfor target; do :; done\necho half > "$target"\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=":")


def test_the_result_is_in_the_cache_under_its_recipe(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mmdebstrap(home, 'echo "$@" > "$target"', monkeypatch)
    debian.make(debian.PROXY)
    assert "--include=nftables,iptables,conntrack,kmod,ca-certificates" in debian.PROXY.path.read_text()
    assert [path.name for path in debian.PROXY.path.parent.iterdir()] == [debian.PROXY.path.name]


@pytest.mark.parametrize(
    ("script", "error", "remedy"),
    [
        pytest.param("echo could not connect >&2; exit 1", MissingBinariesError, "package mirror", id="no-mirror"),
        pytest.param("echo No space left on device >&2; exit 1", DevclusterError, "Make room", id="disk-full"),
    ],
)
def test_a_failure_leaves_nothing_and_says_what_to_do(
    script: str, error: type[DevclusterError], remedy: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mmdebstrap(home, script, monkeypatch)
    with pytest.raises(error, match=remedy):
        debian.make(debian.PROXY)
    assert not list(debian.PROXY.path.parent.iterdir())


def test_file_systems_with_other_packages_have_another_place() -> None:
    assert len({system.path for system in debian.ALL}) == len(debian.ALL)
