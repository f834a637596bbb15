"""The clusters of the demonstration: one with a process node, kind, or the one that kubectl points at."""

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
class DemoCluster:
    """A cluster to use, and how to reach it by hand."""

    environment: Mapping[str, str]
    image: str
    pod_image: str
    """The image of the pods that the demonstration schedules."""
    access: str
    """How a person's shell gets to the cluster: a command, or a sentence."""
    logs: str = ""
    """The log files of the operator and the schedulers, where no kubelet answers ``kubectl logs``."""


@contextmanager
def process(image: str, console: Console) -> Iterator[DemoCluster]:
    """Provide a control plane on this machine; programs run as its processes, beside a few fake nodes."""
    programs = Path(sys.executable).parent
    spec = Spec(fake_nodes=FAKE_NODES, images={image: [str(programs / "python")]})
    with devcluster.running(spec, progress=progress_on(sys.stdout)) as cluster:
        kubectl = Kubectl(cluster.env())
        # Only pods that say so go where nothing really runs.
        kubectl("taint", "nodes", "--selector=type=kwok", "kwok.x-k8s.io/node=fake:NoSchedule")
        console.print(f"Kubernetes {cluster.version} is up: one process node and {FAKE_NODES} fake ones")
        logs = f"{cluster.directory}/node/logs/berth-system_*/*/current"
        yield DemoCluster(kubectl.environment, image, "devcluster/pause", write_environment(cluster), logs)


@contextmanager
def kind(image: str, console: Console) -> Iterator[DemoCluster]:
    """Provide a kind cluster, with the operator and the scheduler in containers built from the Dockerfile."""
    with devcluster.running(Spec(kind=True), progress=progress_on(sys.stdout)) as cluster:
        console.print(f"Kubernetes {cluster.version} is up on kind; building {image}")
        containers.provide(cluster, image)
        yield DemoCluster(cluster.env(), image, image, write_environment(cluster))


@contextmanager
def current(image: str, console: Console) -> Iterator[DemoCluster]:
    """Provide the cluster of the current context, and remove everything from it at the end."""
    if not shutil.which("kubectl"):
        raise DevclusterError("CLUSTER=current needs kubectl on PATH: install it, or leave CLUSTER out")
    kubectl = Kubectl(dict(os.environ))
    try:
        kubectl("get", "--raw", "/version", "--request-timeout=10s")
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()[-1]
        raise DevclusterError(
            f"no cluster answers ({reason}): set KUBECONFIG to one that does, or leave CLUSTER out"
        ) from error
    if existing := installation.existing_objects(kubectl):
        raise DevclusterError(
            f"this cluster has {' and '.join(existing)} already, which the demo would change and then remove: "
            "apply examples/demo/profile.yaml and pods.yaml by hand, or choose another cluster"
        )
    console.print(f"Using the cluster of the context {kubectl('config', 'current-context').strip()} and its {image}")
    try:
        yield DemoCluster(kubectl.environment, image, image, "kubectl points at it already")
    finally:
        console.print("Removing what the demo installed (up to two minutes)")
        # A second Ctrl-C would leave half of it behind.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        installation.remove(kubectl)


def write_environment(cluster: Cluster) -> str:
    """Write a file of shell settings for ``cluster`` and its kubectl, and return the command that reads it."""
    own = {name: value for name, value in cluster.variables().items() if name != "PATH"}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in own.items()]
    file = cluster.directory / "env"
    file.write_text("\n".join([*lines, f"export PATH={shlex.quote(str(cluster.directory / 'bin'))}:$PATH", ""]))
    return f". {file}"


CLUSTERS: Mapping[str, Callable[[str, Console], AbstractContextManager[DemoCluster]]] = {
    "process": process,
    "kind": kind,
    "current": current,
}


def use_cluster(name: str, image: str, console: Console) -> AbstractContextManager[DemoCluster]:
    """Provide the cluster called ``name``, torn down when the context ends."""
    return CLUSTERS[name](image, console)
