"""The check that kind can be used on this machine, and the installation of missing packages.

There are two ways. Where Docker answers and can pull images: kind with its official node image. Where
not: a private Docker daemon and a node image, both made here from Debian packages (see ``private_daemon``).
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

from devcluster.build import products
from devcluster.kind.commands import run
from devcluster.model.spec import DEFAULT_KUBERNETES
from devcluster.system.errors import DevclusterError

PACKAGES = ("mmdebstrap",)  # what Debian 12 lacks; everything else comes into file systems of their own
PROGRAMS = ("mmdebstrap", "unshare", "setpriv")
NEEDED_CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_NET_ADMIN": 12, "CAP_MKNOD": 27}

OFFICIAL_IMAGES = Path(__file__).parent / "official_images.json"
ANSWER_SECONDS = 20.0


def missing(kubernetes: str = DEFAULT_KUBERNETES) -> str | None:
    """The reason for which kind cannot be used here, in a sentence that says what to do; None if it can."""
    if official_image(products.resolve(kubernetes)) is not None:
        return None
    lacking = _lacking_for_good() or _lacking_programs()
    return lacking and f"kind needs a Docker that can pull the official node image; and without one {lacking}"


def official_image(minor: str) -> str | None:
    """The official node image for a Kubernetes version, if the machine's Docker can have it."""
    image: str | None = json.loads(OFFICIAL_IMAGES.read_text()).get(minor)
    return image if image is not None and can_have(image) else None


@functools.cache
def can_have(image: str) -> bool:
    """True if this machine's Docker has the image or can pull it."""
    return (
        shutil.which("docker") is not None
        and _succeeds("docker", "info")
        and (_succeeds("docker", "image", "inspect", image) or _succeeds("docker", "manifest", "inspect", image))
    )


def _succeeds(*command: str) -> bool:
    try:
        answer = subprocess.run(command, capture_output=True, check=False, timeout=ANSWER_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0


def _lacking_for_good() -> str | None:
    """A requirement of the private Docker daemon that no package can meet, as the end of a sentence."""
    if os.geteuid() != 0:
        return "it needs root: run it as root, or start Docker"
    status = Path("/proc/self/status").read_text()
    capabilities = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
    if refused := [name for name, number in NEEDED_CAPABILITIES.items() if not capabilities >> number & 1]:
        return f"root needs {', '.join(refused)}, which this container withholds: run it privileged"
    if not has_cgroup_v1():
        return "it needs the cgroup v1 hierarchies, and this machine has cgroup v2 only: start Docker"
    return None


def _lacking_programs() -> str | None:
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"it needs {', '.join(absent)}: on Debian, run `make node-prerequisites`" if absent else None


def install() -> None:
    """Install the missing packages with apt, where nothing else is missing. Raises DevclusterError."""
    if _lacking_for_good() or not _lacking_programs():
        return
    if shutil.which("apt-get") is None:
        raise DevclusterError(f"install {' and '.join(PACKAGES)} with your system's package manager")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-qq"], "fetching Debian's list of packages", env=env)
    run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES], "installing packages", env=env)


def has_cgroup_v1() -> bool:
    """True if the memory controller is in a hierarchy of its own."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        kind, _, options = line.partition(" - ")[2].split(" ", 2)
        if kind == "cgroup" and "memory" in options.split(","):
            return True
    return False
