"""Private Docker daemons: one for each cluster, each with its own images, addresses and namespaces.

The parts of a daemon on this machine, all removed when it ends:

* processes: its gateway and, below that, its own pid namespace;
* ``<cache>/kind/homes/NAME``: its data;
* ``/run/devcluster-NAME``: its socket, and a lock that its gateway holds while it lives;
* cgroups below ``devcluster-NAME``.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from devcluster.build import cache
from devcluster.guard import Guard
from devcluster.kind.commands import run
from devcluster.model.running_cluster import wait
from devcluster.system.errors import DevclusterError

ENDING_SECONDS = 30.0
CGROUPS = Path("/sys/fs/cgroup")


class NameInUseError(DevclusterError):
    """A cluster of that name runs already."""


def homes() -> Path:
    return cache.root() / "kind" / "homes"


def runtime_directory(name: str) -> Path:
    """The directory of the daemon's socket: a short one, because the path of a socket may not be long."""
    return Path(f"/run/devcluster-{name}")


def cgroup(name: str) -> str:
    return f"/devcluster-{name}"


@dataclass(frozen=True, slots=True)
class Daemon:
    """The private Docker daemon of one cluster."""

    name: str
    home: Path

    @property
    def port(self) -> int:
        """The port that leads from this machine to the same port in the daemon's network."""
        return int((self.home / "port").read_text())

    def environment(self) -> dict[str, str]:
        """The environment in which ``docker`` and ``kind`` talk to this daemon, and to no other."""
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("DOCKER_", "KIND_"))}
        return inherited | {
            "PATH": f"{self.home / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "DOCKER_HOST": f"unix://{runtime_directory(self.name)}/docker.sock",
            "DOCKER_CONFIG": str(self.home / "client"),
            "DOCKER_BUILDKIT": "1",
            "TMPDIR": str(self.home / "tmp"),
        }


def start(name: str, tree: Path, guard: Guard, *, seed: Path | None = None, data: Path | None = None) -> Daemon:
    """Start the daemon ``name`` in the file system ``tree``; it ends with ``guard``.

    Its data is a copy of ``seed``, and is cleared away with the rest unless it is in a directory ``data``.
    Raises NameInUseError if there is one of that name.
    """
    sweep()
    daemon = Daemon(name, homes() / name)
    clear_away(name, daemon.home)
    arguments = ["--name", name, "--home", daemon.home, "--tree", tree, "--data", data or daemon.home / "data"]
    arguments += ["--seed", seed] if seed else []
    guard.at_end([sys.executable, "-P", "-m", "devcluster.kind", "clear-away", name, str(daemon.home)])
    command = [sys.executable, "-P", "-m", "devcluster.kind.gateway", *map(str, arguments)]
    process = guard.start("docker", command, os.environ)
    socket = runtime_directory(name) / "docker.sock"
    wait("the private Docker daemon", socket.exists, {"docker": process}, guard.directory)
    for directory in ("bin", "client", "tmp"):
        (daemon.home / directory).mkdir()
    (daemon.home / "bin" / "docker").symlink_to(tree / "usr/bin/docker")  # comes first in the PATH of environment()
    run(["docker", "version"], "asking the private Docker daemon for its version", env=daemon.environment())
    return daemon


@contextlib.contextmanager
def claimed(name: str) -> Iterator[None]:
    """Own the name ``name`` exclusively. Raises NameInUseError while a daemon of that name runs."""
    directory = runtime_directory(name)
    directory.mkdir(mode=0o700, exist_ok=True)
    with (directory / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NameInUseError(
                f"a kind cluster called {name} is there already: end it with `devcluster down {name}`, "
                "or choose another name"
            ) from error
        yield


def sweep() -> None:
    """Clear away the remains of daemons that were killed together with their guard."""
    for home in homes().glob("*"):
        with contextlib.suppress(NameInUseError):
            clear_away(home.name, home)


def clear_away(name: str, home: Path) -> None:
    """Remove everything of a daemon that has ended. Raises NameInUseError if it has not."""
    with claimed(name):
        for hierarchy in (CGROUPS, *CGROUPS.iterdir()):
            _remove_cgroup(hierarchy / cgroup(name).removeprefix("/"))
        if home.exists():
            shutil.rmtree(home)
        shutil.rmtree(runtime_directory(name))


def _remove_cgroup(top: Path) -> None:
    """Remove a cgroup and those below it, as soon as the processes that were killed have left them."""
    until = time.monotonic() + ENDING_SECONDS
    for directory, _, _ in os.walk(top, topdown=False):
        while True:
            try:
                os.rmdir(directory)
                break
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
            if time.monotonic() > until:
                raise DevclusterError(f"the cgroup {directory} still has processes: end them and remove it")
            time.sleep(0.02)
