"""The data of a Docker daemon that has the images already: what a new cluster's daemon begins with.

One per Kubernetes version, in the cache, named by everything that went into it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from devcluster.build import cache
from devcluster.build.progress import Progress
from devcluster.guard import Guard
from devcluster.kind import archive, debian, images
from devcluster.kind import private_daemon as private
from devcluster.kind.run import run
from devcluster.system.errors import DevclusterError

IMPORT_SECONDS = 30.0
NEEDED_GIGABYTES = 6
UNUSED_SECONDS = 7 * 86400.0
BUILDER = "image.builder"  # no cluster can be called that


@dataclass(frozen=True, slots=True)
class Seed:
    """What the cache has for one Kubernetes version."""

    version: str  # v1.36.4
    data: Path

    @property
    def node_image(self) -> str:
        return images.node_reference(self.version)


def make(minor: str, binaries: Mapping[str, Path], progress: Progress) -> Seed:
    """The seed for ``binaries``, those named in images.BINARIES, made now if it is not in the cache."""
    version = run([binaries["kubeadm"], "version", "-o", "short"], "asking kubeadm for its version").strip()
    seed = Seed(version, place() / "seeds" / f"{minor}-{_key(binaries)}")
    if not seed.data.exists():
        with alone(progress):
            if not seed.data.exists():
                _make(seed, binaries, progress)
                _remove_unused()
    os.utime(seed.data)
    return seed


def place() -> Path:
    return cache.root() / "kind"


@contextlib.contextmanager
def alone(progress: Progress) -> Iterator[None]:
    """Be the only one who makes something in this cache."""
    place().mkdir(parents=True, exist_ok=True)
    with (place() / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"Waiting for another program to make the images in {place()}", None)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(seed: Seed, binaries: Mapping[str, Path], progress: Progress) -> None:
    _check_room()
    missing = [system for system in debian.ALL if not system.path.exists()]
    for position, system in enumerate(missing):
        left = IMPORT_SECONDS + sum(later.seconds for later in missing[position:])
        progress(f"Installing Debian packages for the {system.name} image", left)
        debian.make(system)
    progress("Making the node image", IMPORT_SECONDS)
    shutil.rmtree(place() / "work", ignore_errors=True)  # of one that was killed
    (place() / "work").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place() / "work") as directory:
        data = Path(directory) / "data"
        _fill(data, Path(directory), seed.version, binaries)
        seed.data.parent.mkdir(exist_ok=True)
        data.rename(seed.data)


def _fill(data: Path, work: Path, version: str, binaries: Mapping[str, Path]) -> None:
    """Have a daemon put the images into ``data``."""
    (work / "guard").mkdir()
    guard = Guard.begin(work / "guard")
    try:
        daemon = private.start(BUILDER, debian.DAEMON.path, guard, data=data)
        images.import_node(work, version, binaries, daemon.environment())
        images.write_python(work / "python.tar")
        run(["docker", "load", "--input", work / "python.tar"], "loading the Python image", env=daemon.environment())
    finally:
        guard.end()


def _check_room() -> None:
    free = shutil.disk_usage(place()).free / 1e9
    if free < NEEDED_GIGABYTES:
        raise DevclusterError(
            f"the images for kind need {NEEDED_GIGABYTES} GB in {place()}, and {free:.1f} GB are free: "
            "make room, or set DEVCLUSTER_CACHE to a directory with more"
        )


def _remove_unused() -> None:
    """Remove seeds that no cluster began with for a while."""
    for seed in (place() / "seeds").iterdir():
        if time.time() - seed.stat().st_mtime > UNUSED_SECONDS:
            shutil.rmtree(seed)


def _key(binaries: Mapping[str, Path]) -> str:
    recipe = hashlib.sha256()
    for system in debian.ALL:
        recipe.update(system.key.encode())
    ours = [Path(module.__file__ or "") for module in (archive, images)]
    files = [path for path in sorted(images.NODE_FILES.rglob("*")) if path.is_file()]
    for path in (*ours, *files, *(binaries[name] for name in images.BINARIES)):
        recipe.update(f"{path.name}\0{cache.checksum(path)}\0".encode())
    return recipe.hexdigest()[:12]
