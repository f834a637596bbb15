"""Making a kind cluster, and loading images into it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from devcluster import build
from devcluster.build import products
from devcluster.build.progress import Progress, silent
from devcluster.guard import Guard
from devcluster.kind import daemon_data, debian, images, prerequisites, private_daemon
from devcluster.kind.commands import run
from devcluster.kind.daemon_data import Seed
from devcluster.model.running_cluster import Cluster
from devcluster.model.spec import DEFAULT_KUBERNETES, Spec
from devcluster.system.errors import DevclusterError
from devcluster.system.files import write_atomically

OFFICIAL_BASE_IMAGE = "python:3.13-slim"
CREATE_SECONDS = 30.0
NODE_READY = "180s"
LONGEST_NAME = 38  # a host name is at most 63 characters, and kind and we add to the name
FACTS = "kind.json"

# An administrator who can be named by a token.
ADMINISTRATOR = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: devcluster-admin, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: devcluster-admin}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: devcluster-admin, namespace: kube-system}]
"""
TOKEN_LIFE = "8760h"  # noqa: S105 - a year


@dataclass(frozen=True, slots=True)
class Engine:
    """The container engine that a cluster's nodes run in: the machine's own, or a private one."""

    daemon: private_daemon.Daemon | None
    node_image: str
    base_image: str

    def environment(self) -> dict[str, str] | None:
        """The environment for ``docker`` and ``kind``; None for this process's own."""
        return None if self.daemon is None else self.daemon.environment()


def prepare(kubernetes: str = DEFAULT_KUBERNETES, *, progress: Progress = silent) -> None:
    """Make what the first cluster of a version needs, so that this cluster does not wait for it: some minutes, once.

    Raises DevclusterError where kind cannot be used, or a part cannot be built or downloaded.
    """
    minor = products.resolve(kubernetes)
    build.binaries("kind", "kubectl", kubernetes=minor, progress=progress)
    if official := prerequisites.official_image(minor):
        progress(f"Pulling {official}", None)
        run(["docker", "pull", "--quiet", official], "pulling the node image")
    else:
        _seed(minor, progress)


def create(spec: Spec, guard: Guard, binaries: Mapping[str, Path], progress: Progress) -> Cluster:
    """Make the cluster of ``spec`` in the guard's directory and wait until every node is ready.

    Raises DevclusterError where kind cannot be used, or fails.
    """
    if len(spec.name) > LONGEST_NAME:
        raise DevclusterError(f"{spec.name!r} is too long for a kind cluster: use up to {LONGEST_NAME} characters")
    minor = products.resolve(spec.kubernetes)
    if official := prerequisites.official_image(minor):
        engine = Engine(None, official, OFFICIAL_BASE_IMAGE)
    else:
        seed = _seed(minor, progress)
        daemon = private_daemon.start(spec.name, debian.DAEMON.path, guard, seed=seed.data)
        engine = Engine(daemon, seed.node_image, images.PYTHON)
    progress(f"Starting kind cluster {spec.name}", CREATE_SECONDS)
    kubeconfig = guard.directory / "kubeconfig"
    if engine.daemon is None:
        guard.at_end([str(binaries["kind"]), "delete", "cluster", "--name", kind_name(spec.name)])
    run(
        [binaries["kind"], "create", "cluster", "--config", "-", "--image", engine.node_image, "--wait", NODE_READY,
         "--kubeconfig", kubeconfig],
        "making the kind cluster",
        env=engine.environment(),
        text=json.dumps(configuration(spec, engine.daemon)),
    )  # fmt: skip
    home = engine.daemon and str(engine.daemon.home)
    facts = {"home": home, "node_image": engine.node_image, "base_image": engine.base_image}
    write_atomically(guard.directory / FACTS, json.dumps(facts))
    (guard.directory / "bin").mkdir()
    (guard.directory / "bin" / "kubectl").symlink_to(binaries["kubectl"])
    return _when_usable(spec.name, guard.directory, kubeconfig)


def kind_name(name: str) -> str:
    """The name of the cluster ``name`` for kind and Docker."""
    return f"devcluster-{name}"


def configuration(spec: Spec, daemon: private_daemon.Daemon | None) -> dict[str, Any]:
    """kind's configuration for a cluster."""
    # A ConfigMap reaches the pods that mount it in about this time, instead of a minute or two.
    kubelet: dict[str, Any] = {"kind": "KubeletConfiguration", "syncFrequency": "1s"}
    patches: list[dict[str, Any]] = [kubelet]
    networking: dict[str, Any] = {}
    if daemon is not None:
        kubelet["failCgroupV1"] = False
        patches.append({"kind": "ClusterConfiguration", "imageRepository": images.REPOSITORY})
        networking = {"apiServerAddress": "127.0.0.1", "apiServerPort": daemon.port}
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "name": kind_name(spec.name),
        "networking": networking,
        "nodes": [{"role": "control-plane"}, *({"role": "worker"} for _ in range(spec.nodes - 1))],
        "kubeadmConfigPatches": [json.dumps(patch) for patch in patches],
    }


def load_image(cluster: Cluster, reference: str) -> None:
    """Load an image from the cluster's container engine onto its nodes."""
    environment = _engine(cluster).environment()
    kind = build.binaries("kind")["kind"]
    command: list[str | Path] = [kind, "load", "docker-image", reference, "--name", kind_name(cluster.name)]
    run(command, f"loading {reference} into the nodes", env=environment)


def build_image(
    cluster: Cluster,
    context: Path,
    tag: str,
    *,
    dockerfile: Path | None = None,
    build_args: Mapping[str, str] | None = None,
) -> None:
    """Build an image, without network, in the container engine that ``load_image`` takes images from."""
    arguments = [f"--build-arg={name}={value}" for name, value in (build_args or {}).items()]
    file_option = [f"--file={dockerfile}"] if dockerfile else []
    run(
        ["docker", "build", "--network", "none", "--tag", tag, *file_option, *arguments, context],
        f"building {tag}",
        env=_engine(cluster).environment(),
    )


def base_image(cluster: Cluster) -> str:
    """A Python image that the cluster's container engine has or can have, to build upon."""
    return _engine(cluster).base_image


def _seed(minor: str, progress: Progress) -> Seed:
    if reason := prerequisites.missing(minor):
        raise DevclusterError(reason)
    try:
        return daemon_data.make(minor, build.binaries(*images.BINARIES, kubernetes=minor, progress=progress), progress)
    except OSError as error:
        raise DevclusterError(
            f"the images for kind cannot be made in {daemon_data.place()} ({error}): see that there is room and "
            "that it can be written, or set DEVCLUSTER_CACHE to another directory"
        ) from error


def _engine(cluster: Cluster) -> Engine:
    try:
        facts = json.loads((cluster.directory / FACTS).read_text())
    except FileNotFoundError as error:
        raise DevclusterError(f"{cluster.name} is not a kind cluster: it has no container engine") from error
    daemon = private_daemon.Daemon(cluster.name, Path(facts["home"])) if facts["home"] else None
    return Engine(daemon, facts["node_image"], facts["base_image"])


def _when_usable(name: str, directory: Path, kubeconfig: Path) -> Cluster:
    """The cluster, as soon as its nodes are Ready and pods can be created."""
    access = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    ca = base64.b64decode(access["certificate-authority-data"])
    cluster = Cluster(name, directory, access["server"], kubeconfig, version="", ca=ca, token="")
    cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s")
    cluster.kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
    cluster.kubectl("apply", "-f", "-", input=ADMINISTRATOR)
    return Cluster(
        name,
        directory,
        access["server"],
        kubeconfig,
        version=json.loads(cluster.kubectl("version", "-o", "json").stdout)["serverVersion"]["gitVersion"],
        ca=ca,
        token=cluster.kubectl("create", "token", "devcluster-admin", "-n", "kube-system",
                              f"--duration={TOKEN_LIFE}").stdout.strip(),
    )  # fmt: skip
