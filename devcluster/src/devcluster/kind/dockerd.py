"""Becomes the private Docker daemon, inside the namespaces it was started in.

The daemon sees a Debian of its own through an overlay whose upper half is in memory, so whatever it
writes outside its data and its socket is gone with it. It sees the machine's devices and cgroups.

``python -m devcluster.kind.dockerd NAME HOME DATA TREE``; see ``gateway`` for the words.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from devcluster.kind import oci_runtime
from devcluster.kind.private_daemon import cgroup, runtime_directory

# In the daemon's file system.
RUNTIME = "usr/local/bin/clipped-runc"
DATA = "var/lib/docker"
ENOUGH_MEMORY = 10 << 30  # for the volumes of three nodes, and everything else


def main(name: str, home: Path, data: Path, tree: Path) -> None:
    root = overlay(tree, home / "root")
    runtime = runtime_directory(name)
    mount("-t", "tmpfs", "tmpfs", root / "run")
    mount("-t", "proc", "proc", root / "proc")
    for source, target in (("/dev", "dev"), ("/sys", "sys"), (data, DATA), (runtime, str(runtime)[1:])):
        (root / target).mkdir(exist_ok=True)
        mount("--rbind", source, root / target)
    if available_memory() > ENOUGH_MEMORY:
        keep_in_memory(root / DATA / "volumes")
    configure(root, name)
    enter(root)
    mount("--make-rshared", "/")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # dockerd takes a machine on which AppArmor is on for one that can load its profile, unless this is set.
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "container": "devcluster"}
    os.execve("/usr/sbin/dockerd", ["dockerd", "--host", f"unix://{runtime}/docker.sock"], environment)  # noqa: S606


def overlay(tree: Path, scratch: Path) -> Path:
    """Mount ``tree`` where it can be written to without changing it."""
    scratch.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "tmpfs", scratch)
    upper, work, merged = (scratch / part for part in ("upper", "work", "merged"))
    for part in (upper, work, merged):
        part.mkdir()
    mount("-t", "overlay", "-o", f"lowerdir={tree},upperdir={upper},workdir={work}", "overlay", merged)
    return merged


def keep_in_memory(volumes: Path) -> None:
    """Spare the disk what a node writes, a gigabyte that is gone with it: half the time of making and of ending one."""
    volumes.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "tmpfs", volumes)


def available_memory() -> int:
    """Bytes that can be had without swapping."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


def configure(root: Path, name: str) -> None:
    settings = {
        "storage-driver": "overlay2",
        "cgroup-parent": cgroup(name),
        "runtimes": {"clipped": {"path": f"/{RUNTIME}"}},
        "default-runtime": "clipped",
    }
    (root / "etc/docker").mkdir(exist_ok=True)
    (root / "etc/docker/daemon.json").write_text(json.dumps(settings))
    if Path("/etc/resolv.conf").exists():
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    shutil.copy(oci_runtime.__file__, root / RUNTIME)
    (root / RUNTIME).chmod(0o755)


def enter(root: Path) -> None:
    """Make ``root`` the root of this mount namespace, and let go of everything else."""
    subprocess.run(["pivot_root", root, root / "mnt"], check=True)
    os.chdir("/")
    subprocess.run(["umount", "--lazy", "/mnt"], check=True)


def mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *arguments], check=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:5]))
