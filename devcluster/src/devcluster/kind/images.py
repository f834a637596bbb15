"""The images a cluster needs where none can be pulled: the control plane's, the node's, and one to build upon."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from devcluster.kind import archive, debian
from devcluster.kind.commands import contained, run

REPOSITORY = "localhost/kind"
PYTHON = "localhost/base/python:3.11-slim"
SYSTEM_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

CONTROL_PLANE = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "etcd",
    "coredns",
    "pause",
)
ON_THE_NODE = ("kubelet", "kubeadm", "kubectl")
BINARIES = (*CONTROL_PLANE, *ON_THE_NODE)

NODE_FILES = Path(__file__).parent / "node"


def node_reference(version: str) -> str:
    return f"{REPOSITORY}/node:{version}"


def write_python(to: Path) -> None:
    """Write the image that Python programs are built upon, close to the official slim one of the same version."""
    # Debian tells pip to leave its Python alone; in an image nobody else uses it.
    env = [SYSTEM_PATH, "LANG=C.UTF-8", "PIP_BREAK_SYSTEM_PACKAGES=1", "PIP_ROOT_USER_ACTION=ignore"]
    archive.write(to, PYTHON, [debian.PYTHON.path], {"Env": env, "Cmd": ["python3"]})


def write_control_plane(to: Path, version: str, binaries: Mapping[str, Path]) -> str:
    """Write every image kubeadm asks for into the directory ``to``; returns the reference of the pause image."""
    listed = run(
        [binaries["kubeadm"], "config", "images", "list", "--kubernetes-version", version,
         "--image-repository", REPOSITORY],
        "asking kubeadm for its images",
    )  # fmt: skip
    references = {reference.rpartition("/")[2].partition(":")[0]: reference for reference in listed.split()}
    for name, reference in references.items():
        program = f"/usr/local/bin/{name}"
        with tempfile.TemporaryDirectory(dir=to.parent) as scratch:
            own = archive.layer(binaries[name], program, Path(scratch) / "layer.tar")
            layers = [debian.PROXY.path, own] if name == "kube-proxy" else [own]
            archive.write(to / f"{name}.tar", reference, layers, {"Env": [SYSTEM_PATH], "Entrypoint": [program]})
    return references["pause"]


def import_node(work: Path, version: str, binaries: Mapping[str, Path], docker: Mapping[str, str]) -> None:
    """Make the node image in the directory ``work`` and give it to the Docker daemon of the environment ``docker``."""
    root = work / "root"
    root.mkdir()
    run(["tar", "-C", root, "-xf", debian.NODE.path, "--exclude=./dev/*"], "unpacking the node's file system")
    shutil.copytree(NODE_FILES, root, dirs_exist_ok=True)
    (root / "kind" / "version").write_text(version)
    for name in ON_THE_NODE:
        shutil.copy(binaries[name], root / "usr" / "bin" / name)
    (root / "kind" / "images").mkdir()
    pause = write_control_plane(root / "kind" / "images", version, binaries)
    containerd = root / "etc" / "containerd" / "config.toml"
    containerd.write_text(containerd.read_text().replace("PAUSE_IMAGE", pause))
    in_root = 'mount -t proc proc "$1/proc" && exec chroot "$1" /kind/setup'
    run(contained("sh", "-c", in_root, "sh", root), "preparing the node image")
    run(["tar", "-C", root, "-cf", work / "root.tar", "."], "packing the node's file system")
    changes = [
        "--change=ENV container=docker",
        f"--change=ENV {SYSTEM_PATH}",
        '--change=ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]',
    ]
    run(
        ["docker", "import", *changes, work / "root.tar", node_reference(version)],
        "importing the node image",
        env=docker,
    )
