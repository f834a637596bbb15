"""Debian file systems, made from packages by mmdebstrap and kept in the cache.

All are Debian 12: its systemd still runs on the cgroup v1 hierarchies that machines without a
container engine tend to have, and its containerd is one that the kubelet accepts.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from devcluster.build import cache
from devcluster.kind.commands import contained, run
from devcluster.system.errors import DevclusterError, MissingBinariesError

SUITE = "bookworm"
EXCLUDED_PATHS = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*")


@dataclass(frozen=True, slots=True)
class FileSystem:
    """The contents of one file system, and roughly the seconds that making it takes."""

    name: str
    variant: str  # of mmdebstrap: how much of Debian is there before the packages
    packages: tuple[str, ...]
    seconds: float
    is_archive: bool = True  # a tar file; otherwise a directory

    @property
    def key(self) -> str:
        recipe = [asdict(self), SUITE, EXCLUDED_PATHS]
        return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:12]

    @property
    def path(self) -> Path:
        return cache.root() / "kind" / "debian" / f"{self.name}-{self.key}{'.tar' if self.is_archive else ''}"


# What the private Docker daemon runs in, python3 for its OCI runtime.
DAEMON = FileSystem("daemon", "minbase", ("docker.io", "iproute2", "iptables", "python3"), 30, is_archive=False)

NODE = FileSystem(
    "node",
    "minbase",
    (
        "systemd", "systemd-sysv", "containerd", "runc", "containernetworking-plugins",
        "iptables", "nftables", "iproute2", "conntrack", "ethtool", "socat",
        "mount", "kmod", "procps", "ca-certificates",
    ),
    35,
)  # fmt: skip

# Below kube-proxy, which calls these programs.
PROXY = FileSystem("proxy", "essential", ("nftables", "iptables", "conntrack", "kmod", "ca-certificates"), 20)

PYTHON = FileSystem(
    "python", "apt", ("python3", "python3-pip", "python3-venv", "python-is-python3", "ca-certificates"), 30
)

ALL = (DAEMON, NODE, PROXY, PYTHON)


def make(system: FileSystem) -> None:
    """Install the packages of ``system`` and put the result into the cache. Raises DevclusterError."""
    path = system.path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"partial-{path.name}")
    _remove(partial)
    excluded = [f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED_PATHS]
    packages = ",".join(system.packages)
    try:
        run(
            contained("mmdebstrap", "--mode=root", "--quiet", f"--variant={system.variant}", f"--include={packages}",
                      *excluded, SUITE, partial),
            f"installing Debian packages for the {system.name} image",
        )  # fmt: skip
    except DevclusterError as error:
        _remove(partial)
        if "No space left on device" in str(error):
            raise DevclusterError(f"{error}\nMake room in {path.parent}, and try again.") from error
        raise MissingBinariesError(f"{error}\nSee that Debian's package mirror can be reached.") from error
    partial.rename(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
