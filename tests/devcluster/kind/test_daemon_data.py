"""Seeds: named by their sources, and refused before the disk is full."""

from pathlib import Path

import pytest

from devcluster import DevclusterError
from devcluster.build.progress import silent
from devcluster.kind import daemon_data, images


@pytest.fixture
def binaries(home: Path) -> dict[str, Path]:
    """Programs that all say they are kubeadm."""
    for name in images.BINARIES:
        (home / name).write_text(f"#!/bin/sh\n# {name}\necho v1.36.4\n")
        (home / name).chmod(0o755)
    return {name: home / name for name in images.BINARIES}


def test_without_room_nothing_starts(binaries: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_data, "NEEDED_GIGABYTES", 10**9)
    with pytest.raises(DevclusterError, match="make room, or set DEVCLUSTER_CACHE"):
        daemon_data.make("1.36", binaries, silent)
    assert not list(daemon_data.place().glob("*/*"))


def test_a_seed_is_reused_until_one_of_its_sources_changes(
    binaries: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_data, "NEEDED_GIGABYTES", 10**9)  # so that none can be made
    there = daemon_data.place() / "seeds" / f"1.36-{daemon_data.key(binaries)}"
    there.mkdir(parents=True)
    assert daemon_data.make("1.36", binaries, silent) == daemon_data.Seed("v1.36.4", there)
    binaries["kubelet"].write_text("another")
    with pytest.raises(DevclusterError, match="make room"):
        daemon_data.make("1.36", binaries, silent)
