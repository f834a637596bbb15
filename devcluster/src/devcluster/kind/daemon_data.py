"""Seeds: the data of a Docker daemon that has the images already, copied for each new cluster's daemon.

The cache holds one per Kubernetes version; its name contains a hash of everything it was made from.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devcluster.build import cache
from devcluster.build.progress import Progress
from devcluster.guard import Guard
from devcluster.kind import archive, debian, images, private_daemon
from devcluster.kind.commands import run
from devcluster.system.errors import DevclusterError

IMPORT_SECONDS = 30.0
NEEDED_GIGABYTES = 6
UNUSED_SECONDS = 7 * 86400.0
BUILDER = "image.builder"  # not a possible name of a cluster


@dataclass(frozen=True, slots=True)
class Seed:
    """The daemon's data for one Kubernetes version, in the cache."""

    version: str  # v1.36.4
    data: Path

    @property
    def node_image(self) -> str:
        return images.node_reference(self.version)


def make(minor: str, binaries: Mapping[str, Path], progress: Progress) -> Seed:
    """The seed for ``binaries``, those named in images.BINARIES, made now if it is not in the cache."""
    version = run([binaries["kubeadm"], "version", "-o", "short"], "asking kubeadm for its version").strip()
    seed = Seed(version, place() / "seeds" / f"{minor}-{key(binaries)}")
    if not seed.data.exists():
        waiting = f"Waiting for another program to make the images in {place()}"
        with cache.exclusive(place() / "lock", waiting, progress):
            if not seed.data.exists():  # another program may have made it while we waited
                _make(seed, binaries, progress)
                for unused in (place() / "seeds").iterdir():
                    if time.time() - unused.stat().st_mtime > UNUSED_SECONDS:
                        shutil.rmtree(unused)
    os.utime(seed.data)
    return seed


def place() -> Path:
    return cache.root() / "kind"


def _make(seed: Seed, binaries: Mapping[str, Path], progress: Progress) -> None:
    free = shutil.disk_usage(place()).free / 1e9
    if free < NEEDED_GIGABYTES:
        raise DevclusterError(
            f"the images for kind need {NEEDED_GIGABYTES} GB in {place()}, and {free:.1f} GB are free: "
            "make room, or set DEVCLUSTER_CACHE to a directory with more"
        )
    missing = [system for system in debian.ALL if not system.path.exists()]
    for position, system in enumerate(missing):
        seconds = IMPORT_SECONDS + sum(later.seconds for later in missing[position:])
        progress(f"Installing Debian packages for the {system.name} image", seconds)
        debian.make(system)
    progress("Making the node image", IMPORT_SECONDS)
    shutil.rmtree(place() / "work", ignore_errors=True)  # left by a program that was killed
    (place() / "work").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place() / "work") as directory:
        work = Path(directory)
        data = work / "data"
        (work / "guard").mkdir()
        guard = Guard.begin(work / "guard")
        try:
            daemon = private_daemon.start(BUILDER, debian.DAEMON.path, guard, data=data)
            docker = daemon.environment()
            images.import_node(work, seed.version, binaries, docker)
            images.write_python(work / "python.tar")
            run(["docker", "load", "--input", work / "python.tar"], "loading the Python image", env=docker)
        finally:
            guard.end()
        seed.data.parent.mkdir(exist_ok=True)
        data.rename(seed.data)


def key(binaries: Mapping[str, Path]) -> str:
    """A hash of everything that a seed is made from."""
    recipe = hashlib.sha256()
    for system in debian.ALL:
        recipe.update(system.key.encode())
    ours = [Path(module.__file__ or "") for module in (archive, images)]
    files = [path for path in sorted(images.NODE_FILES.rglob("*")) if path.is_file()]
    for path in (*ours, *files, *(binaries[name] for name in images.BINARIES)):
        recipe.update(f"{path.name}\0{cache.checksum(path)}\0".encode())
    return recipe.hexdigest()[:12]
