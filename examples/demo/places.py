"""Where the demonstration can happen: on a process node, on kind, or on the cluster that kubectl points at."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

import devcluster
from devcluster import Cluster, DevclusterError, Spec
from devcluster.build.progress import progress_on
from examples.demo import containers, installation
from examples.demo.kubectl import Kubectl

FAKE_NODES = 4


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster to use, and how to reach it by hand."""

    environment: Mapping[str, str]
    image: str
    pod_image: str
    by_hand: str
    logs: str = ""  # where kubectl logs has nobody to ask


@contextmanager
def process(image: str, console: Console) -> Iterator[Place]:
    """A control plane of this machine's own; programs run as its processes, beside a few fake nodes."""
    programs = Path(sys.executable).parent
    spec = Spec(fake_nodes=FAKE_NODES, images={image: [str(programs / "python")]})
    with devcluster.running(spec, progress=progress_on(sys.stdout)) as cluster:
        kubectl = Kubectl(cluster.env())
        # Only pods that say so go where nothing really runs.
        kubectl("taint", "nodes", "--selector=type=kwok", "kwok.x-k8s.io/node=fake:NoSchedule")
        console.print(f"Kubernetes {cluster.version} is up: one process node and {FAKE_NODES} fake ones")
        logs = f"{cluster.directory}/node/logs/berth-system_*/*/current"
        yield Place(kubectl.environment, image, "devcluster/pause", settings(cluster), logs)


@contextmanager
def kind(image: str, console: Console) -> Iterator[Place]:
    """A kind cluster, with the operator and the scheduler in containers built from the Dockerfile."""
    with devcluster.running(Spec(kind=True), progress=progress_on(sys.stdout)) as cluster:
        console.print(f"Kubernetes {cluster.version} is up on kind; building {image}")
        containers.provide(cluster, image)
        yield Place(cluster.env(), image, image, settings(cluster))


@contextmanager
def current(image: str, console: Console) -> Iterator[Place]:
    """The cluster of the current context, which is left as it was found."""
    if not shutil.which("kubectl"):
        raise DevclusterError("CLUSTER=current needs kubectl on PATH: install it, or leave CLUSTER out")
    kubectl = Kubectl(dict(os.environ))
    _greet(kubectl)
    if found := installation.in_the_way(kubectl):
        raise DevclusterError(
            f"this cluster has {' and '.join(found)} already, which the demo would change and then remove: "
            "apply examples/demo/profile.yaml and pods.yaml by hand, or choose another cluster"
        )
    console.print(f"Using the cluster of the context {kubectl('config', 'current-context').strip()} and its {image}")
    try:
        yield Place(kubectl.environment, image, image, "kubectl points at it already")
    finally:
        console.print("Removing what the demo installed (up to two minutes)")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        installation.remove(kubectl)


def _greet(kubectl: Kubectl) -> None:
    """Raise DevclusterError when no cluster answers."""
    try:
        kubectl("get", "--raw", "/version", "--request-timeout=10s")
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()[-1]
        raise DevclusterError(
            f"no cluster answers ({reason}): set KUBECONFIG to one that does, or leave CLUSTER out"
        ) from error


def settings(cluster: Cluster) -> str:
    """The command that makes a shell use ``cluster``, and the kubectl that goes with it."""
    own = {name: value for name, value in cluster.variables().items() if name != "PATH"}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in own.items()]
    file = cluster.directory / "env"
    file.write_text("\n".join([*lines, f"export PATH={shlex.quote(str(cluster.directory / 'bin'))}:$PATH", ""]))
    return f". {file}"


PLACES: Mapping[str, Callable[[str, Console], AbstractContextManager[Place]]] = {
    "process": process,
    "kind": kind,
    "current": current,
}


def place(name: str, image: str, console: Console) -> AbstractContextManager[Place]:
    """The place called ``name``, torn down when the context ends."""
    return PLACES[name](image, console)
