"""Making and ending clusters: for a block of code, or until ``down``."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devcluster import build
from devcluster.build.progress import Progress, silent
from devcluster.controlplane import control_plane
from devcluster.guard import Guard
from devcluster.model.running_cluster import Cluster, load
from devcluster.model.spec import Spec, check_name
from devcluster.system.errors import DevclusterError

TEMPORARY = "devcluster-"


@dataclass(frozen=True, slots=True)
class Status:
    """A cluster made by ``up``. While it is being made, and when that failed, it has no server and version."""

    name: str
    directory: Path
    server: str
    version: str
    components: tuple[str, ...]
    stopped: tuple[str, ...]
    is_alive: bool


@contextmanager
def running(spec: Spec | None = None, *, progress: Progress = silent) -> Iterator[Cluster]:
    """A cluster for the length of a ``with`` block.

    It ends with the block, and also when this process ends in any other way: its guard watches.
    """
    spec = _named(spec, f"tmp-{secrets.token_hex(4)}")
    binaries = _binaries(spec, progress)
    remove_abandoned()
    with _explaining(Path(tempfile.gettempdir())):
        guard = _begin(Path(tempfile.mkdtemp(prefix=TEMPORARY)))
    try:
        yield _make(spec, guard, binaries, progress)
    finally:
        guard.end()


def up(spec: Spec | None = None, *, progress: Progress = silent) -> Cluster:
    """Make a cluster that outlives this process, until ``down``. Raises DevclusterError if its name is taken."""
    spec = _named(spec, "default")
    binaries = _binaries(spec, progress)
    with _explaining(state()):
        guard = _claim(spec.name)
    try:
        cluster = _make(spec, guard, binaries, progress)
        # Saved before detached: ``find`` must know every cluster that outlives this process.
        cluster.save()
        guard.detach()
    except BaseException:
        guard.end()
        raise
    return cluster


def down(name: str) -> None:
    """End a cluster that was made by ``up``: its processes and its files. Raises DevclusterError if there is none."""
    directory = state() / check_name(name)
    if not directory.is_dir():
        raise _unknown(name)
    Guard(directory).end()


def find(name: str) -> Cluster:
    """The cluster called ``name`` that was made by ``up``. Raises DevclusterError if it does not run."""
    directory = state() / check_name(name)
    cluster = load(directory)
    if cluster is None:
        raise _unknown(name)
    if not Guard(directory).is_alive:
        raise DevclusterError(
            f"cluster {name} no longer runs: remove it with 'devcluster down {name}' and make it again"
        )
    return cluster


def status() -> list[Status]:
    """The clusters made by ``up``, sorted by name."""
    clusters = []
    for directory in sorted(state().iterdir()) if state().is_dir() else ():
        if not directory.is_dir():
            continue
        guard, cluster = Guard(directory), load(directory)
        clusters.append(
            Status(
                name=directory.name,
                directory=directory,
                server=cluster.server if cluster else "",
                version=cluster.version if cluster else "",
                components=tuple(guard.components()),
                stopped=tuple(guard.stopped()),
                is_alive=guard.is_alive,
            )
        )
    return clusters


def state() -> Path:
    """The home of clusters made by ``up``: ``$DEVCLUSTER_STATE``, or ``devcluster`` in the user's state directory."""
    if own := os.environ.get("DEVCLUSTER_STATE"):
        return Path(own).absolute()
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state").absolute() / "devcluster"


def remove_abandoned() -> None:
    """Remove the files of temporary clusters whose guard was killed together with its parent."""
    for directory in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*"):
        mine = directory.is_dir() and directory.stat().st_uid == os.getuid()
        if mine and (directory / "guard.json").exists() and not Guard(directory).is_alive:
            Guard(directory).end()


def _named(spec: Spec | None, name: str) -> Spec:
    spec = spec or Spec()
    return spec if spec.name else dataclasses.replace(spec, name=name)


def _binaries(spec: Spec, progress: Progress) -> dict[str, Path]:
    return build.binaries(*spec.binaries, kubernetes=spec.kubernetes, progress=progress)


def _make(spec: Spec, guard: Guard, binaries: dict[str, Path], progress: Progress) -> Cluster:
    if spec.kind:
        from devcluster.kind import create  # plain processes need nothing of it

        return create(spec, guard, binaries, progress)
    progress(f"Starting cluster {spec.name}", None)
    with _explaining(guard.directory):
        return control_plane.start(spec, guard, binaries)


@contextmanager
def _explaining(directory: Path) -> Iterator[None]:
    """Turn an OSError about a cluster's files into a DevclusterError."""
    try:
        yield
    except OSError as error:
        raise DevclusterError(
            f"a cluster cannot be made in {directory} ({error}): see that there is room and that it can be written"
        ) from error


def _claim(name: str) -> Guard:
    """Take the name, and the directory that goes with it, for a new cluster."""
    state().mkdir(mode=0o700, parents=True, exist_ok=True)
    directory = state() / name
    with (state() / "lock").open("w") as lock:  # under it, a directory without a live guard has lost its guard
        fcntl.flock(lock, fcntl.LOCK_EX)
        if directory.exists():
            if Guard(directory).is_alive:
                raise DevclusterError(
                    f"there is already a cluster {name}: use it, end it with 'devcluster down {name}', "
                    "or give the new one another name with --name"
                )
            Guard(directory).end()
        directory.mkdir(mode=0o700)
        return _begin(directory)


def _begin(directory: Path) -> Guard:
    try:
        return Guard.begin(directory)
    except BaseException:
        shutil.rmtree(directory)
        raise


def _unknown(name: str) -> DevclusterError:
    names = ", ".join(cluster.name for cluster in status())
    return DevclusterError(
        f"there is no cluster {name}: " + (f"there are {names}" if names else "make one with 'devcluster up'")
    )
