"""Where the demonstration can happen: on a process node, on kind, or on the cluster that kubectl points at."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

import devcluster
from devcluster import DevclusterError, Spec
from devcluster.build.progress import shown_on
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


@contextmanager
def process(image: str, console: Console) -> Iterator[Place]:
    """A control plane of this machine's own; programs run as its processes, beside a few fake nodes."""
    programs = Path(sys.executable).parent
    spec = Spec(fake_nodes=FAKE_NODES, images={image: [str(programs / "python")]})
    with devcluster.running(spec, progress=shown_on(sys.stdout)) as cluster:
        kubectl = Kubectl(cluster.env())
        # Only pods that say so go where nothing really runs.
        kubectl("taint", "nodes", "--selector=type=kwok", "kwok.x-k8s.io/node=fake:NoSchedule")
        console.print(f"Kubernetes {cluster.version} is up: one process node and {FAKE_NODES} fake ones")
        yield Place(kubectl.environment, image, "devcluster/pause", f"export KUBECONFIG={cluster.kubeconfig}")


@contextmanager
def kind(image: str, console: Console) -> Iterator[Place]:
    """A kind cluster, with the operator and the scheduler in containers built from the Dockerfile."""
    with devcluster.running(Spec(kind=True), progress=shown_on(sys.stdout)) as cluster:
        console.print(f"Kubernetes {cluster.version} is up on kind; building {image}")
        containers.provide(cluster, image)
        yield Place(cluster.env(), image, image, f"export KUBECONFIG={cluster.kubeconfig}")


@contextmanager
def current(image: str, console: Console) -> Iterator[Place]:
    """The cluster of the current context, which is left as it was found."""
    if not shutil.which("kubectl"):
        raise DevclusterError("CLUSTER=current needs kubectl on PATH: install it, or leave CLUSTER out")
    kubectl = Kubectl(dict(os.environ))
    if kubectl("get", "crd", "schedulerprofiles.berth.dev", "--ignore-not-found"):
        raise DevclusterError("this cluster has Berth already: apply examples/demo/profile.yaml and pods.yaml to it")
    console.print(f"Using the cluster of the context {kubectl('config', 'current-context').strip()}")
    try:
        yield Place(kubectl.environment, image, image, "kubectl points at it already")
    finally:
        installation.remove(kubectl)


PLACES: Mapping[str, Callable[[str, Console], AbstractContextManager[Place]]] = {
    "process": process,
    "kind": kind,
    "current": current,
}


def place(name: str, image: str, console: Console) -> AbstractContextManager[Place]:
    """The place called ``name``, torn down when the context ends."""
    return PLACES[name](image, console)
