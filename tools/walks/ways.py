"""The ways that are walked, made to happen on a real API server, and the recordings of the processes they lead through.

scheduler (traced) ◄──► API server with three fake nodes ◄──► operator (traced)
       ▲                          ▲                                ▲
       └── order ──────────── this module ────────────── order ────┘
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

import devcluster
from devcluster import Cluster, Spec
from tools.walks.recording import WalkError

TRACER = Path(__file__).parent / "tracer.py"
NAMESPACE = "berth-system"
SCHEDULER = "berth"
PROFILE = "walk-profile"
CONFIG_MAP = "walk-document"
NODES = 3
SECONDS = 60.0
IDLE_SECONDS = 10.0
"""What happens while nothing happens is background: it is recorded for so long, and left out of the walks."""
SETTLE_SECONDS = 1.5
"""How long a recording goes on after its end was observed, for what is written behind."""

PLUGIN_CONFIG = [
    {
        "name": "NodeResourcesFit",
        "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
    }
]

Object = dict[str, Any]


@dataclass
class Traced:
    """A process that runs under the tracer."""

    folder: Path
    process: subprocess.Popen[bytes]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    @contextlib.contextmanager
    def recording(self, marker: str, into: dict[str, Object], name: str) -> Iterator[None]:
        """Record while the ``with`` lasts and a little longer; ``marker`` is what the walk is about."""
        number = next(self.numbers)
        self._order(f"{number} {marker}")
        until((self.folder / f"{number}.started").exists, f"start of the recording {number}", self)
        yield
        time.sleep(SETTLE_SECONDS)
        self._order("0 ")
        file = self.folder / f"{number}.json"
        until(file.exists, f"the recording {number}", self)
        into[name] = json.loads(file.read_text())

    def _order(self, text: str) -> None:
        partial = self.folder / "order.partial"
        partial.write_text(text)
        partial.rename(self.folder / "order")


@contextlib.contextmanager
def traced(root: Path, folder: Path, module: str, *arguments: str, **environment: str) -> Iterator[Traced]:
    """Run a module of the tree at ``root`` under the tracer, in the environment of that tree."""
    folder.mkdir()
    command = [str(root.absolute() / ".venv/bin/python"), str(TRACER), str(folder), module, *arguments]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=folder, env={**os.environ, "KUBECONFIG": "", **environment}
        )
    try:
        yield Traced(folder, process)
    finally:
        process.kill()
        process.wait()


def until(condition: Callable[[], object], what: str, process: Traced) -> None:
    """Wait for ``condition``; raise WalkError with the end of the log if the process ends or it takes too long."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if process.process.poll() is not None or time.monotonic() > deadline:
            raise WalkError(f"no {what}; the end of the log:\n{process.log[-3000:]}")
        time.sleep(0.1)


def recordings(root: Path) -> dict[str, Object]:
    """Walk every way with the programs of the tree at ``root``; return the recordings by the name of the way."""
    walks: dict[str, Object] = {}
    with (
        tempfile.TemporaryDirectory(prefix="walks-") as folder,
        devcluster.running(Spec(node="none", fake_nodes=NODES, scheduler=False)) as cluster,
    ):
        walk_scheduler(root, Path(folder), cluster, walks)
        walk_operator(root, Path(folder), cluster, walks)
    return walks


def walk_scheduler(root: Path, folder: Path, cluster: Cluster, into: dict[str, Object]) -> None:
    """Record a pod that is bound, one that fits nowhere and is woken, a changed document, and a preemption."""
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(document()))
    config_map(cluster, document())
    flags = ["--config", str(file), "--config-map", f"default/{CONFIG_MAP}", "--kubeconfig", str(cluster.kubeconfig)]
    flags += ["--secure-port", "0", "-v", "0"]
    with traced(root, folder / "scheduler", "scheduler_runtime", *flags) as process:
        until(lambda: " scheduling " in process.log, "scheduler that leads", process)
        for name in ("before-0", "before-1"):  # what is done once only, such as connecting, is no part of a walk
            apply(cluster, pod(name, cpu="50m"))
            until(lambda: node_of(cluster, name), "bound pod", process)  # noqa: B023
        time.sleep(SETTLE_SECONDS)
        with process.recording("-", into, "idle"):
            time.sleep(IDLE_SECONDS)
        with process.recording("walk-bound", into, "bound"):
            apply(cluster, pod("walk-bound", cpu="50m"))
            until(lambda: node_of(cluster, "walk-bound"), "bound pod", process)
        with process.recording("walk-first", into, "first of its class"):
            apply(cluster, pod("walk-first", cpu="70m"))
            until(lambda: node_of(cluster, "walk-first"), "bound pod", process)
        with process.recording("walk-fails", into, "fails"):
            apply(cluster, pod("walk-fails", cpu="1000"))
            until(lambda: "FailedScheduling" in event_reasons(cluster, "walk-fails"), "event", process)
        time.sleep(2.0)  # the pod is in backoff that long
        node = nodes(cluster)[0]
        with process.recording(node, into, "wakes"):
            allocatable = json.dumps({"status": {"allocatable": {"cpu": "2000"}, "capacity": {"cpu": "2000"}}})
            cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "--patch", allocatable)
            until(lambda: node_of(cluster, "walk-fails"), "bound pod", process)
        with process.recording(CONFIG_MAP, into, "document"):
            config_map(cluster, document(profiles=[{"schedulerName": SCHEDULER, "pluginConfig": PLUGIN_CONFIG}]))
            until(lambda: "follows a new document" in process.log, "followed document", process)
        fill_nodes(cluster, process)
        with process.recording("walk-preempts", into, "preempts"):
            apply(cluster, pod("walk-preempts", cpu="700m", priorityClassName="walk-high"))
            until(lambda: node_of(cluster, "walk-preempts"), "bound pod", process)


def walk_operator(root: Path, folder: Path, cluster: Cluster, into: dict[str, Object]) -> None:
    """Record a profile from the handler to its status."""
    cluster.kubectl("create", "namespace", NAMESPACE)
    cluster.kubectl("apply", "--server-side", "-f", str(root / "crds"))
    established = ("wait", "--for=condition=Established", "--timeout=60s", "-f", str(root / "crds"))
    cluster.kubectl(*established)
    environment = {"POD_NAME": "operator-walk", "POD_NAMESPACE": NAMESPACE, "POD_IP": "127.0.0.1"}
    flags = ["--kubeconfig", str(cluster.kubeconfig), "--scheduler-image", "berth:test", "--port", "0"]
    with traced(root, folder / "operator", "scheduler_operator", *flags, **environment) as process:
        until(lambda: holder(cluster), "operator that leads", process)
        time.sleep(SETTLE_SECONDS)
        apply(cluster, profile("before"))
        until(lambda: conditions(cluster, "before"), "status", process)
        time.sleep(10.0)  # later events about the objects of the first profile are no part of the walk
        with process.recording("-", into, "idle operator"):
            time.sleep(IDLE_SECONDS)
        with process.recording(PROFILE, into, "profile"):
            apply(cluster, profile(PROFILE))
            until(lambda: conditions(cluster, PROFILE), "status", process)


# What is written to the cluster


def document(**changes: Any) -> Object:
    """Return a document whose scheduler leads at once."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": -1},
        "leaderElection": {"resourceNamespace": "default", "resourceName": SCHEDULER},
        "profiles": [{"schedulerName": SCHEDULER}],
        **changes,
    }


def config_map(cluster: Cluster, content: Object) -> None:
    """Write the document where the scheduler follows it."""
    apply(
        cluster,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG_MAP, "namespace": "default"},
            "data": {"config.yaml": yaml.safe_dump(content)},
        },
    )


def pod(name: str, *, cpu: str, **spec: Any) -> Object:
    """Return a pod for the traced scheduler. Pods with different ``cpu`` share no cached answers."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulerName": SCHEDULER,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
    }


def profile(name: str) -> Object:
    """Return a profile with nothing special about it."""
    return {
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": {},
    }


def fill_nodes(cluster: Cluster, process: Traced) -> None:
    """Give each node little room and a pod that takes it, so that only preemption helps."""
    cluster.kubectl("delete", "pods", "--all", "--wait=true")
    little = json.dumps({"status": {"allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}}})
    for name in nodes(cluster):
        cluster.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "--patch", little)
    apply(
        cluster,
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "walk-high"},
            "value": 1000,
        },
    )
    names = [f"low-{number}" for number in range(NODES)]
    apply(cluster, *(pod(name, cpu="600m") for name in names))
    until(lambda: all(node_of(cluster, name) for name in names), "bound pods", process)
    time.sleep(SETTLE_SECONDS)


def apply(cluster: Cluster, *objects: Object) -> None:
    """Write objects by server-side apply."""
    cluster.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(objects))


# What is read from the cluster


def nodes(cluster: Cluster) -> list[str]:
    """Return the names of the nodes."""
    return cluster.kubectl("get", "nodes", "--output=jsonpath={.items[*].metadata.name}").stdout.split()


def node_of(cluster: Cluster, name: str) -> str:
    """Return the node of a pod, empty while it has none."""
    return cluster.kubectl("get", "pod", name, "--output=jsonpath={.spec.nodeName}").stdout


def event_reasons(cluster: Cluster, name: str) -> str:
    """Return the reasons of a pod's events."""
    selector = f"--field-selector=involvedObject.name={name}"
    return cluster.kubectl("get", "events", selector, "--output=jsonpath={.items[*].reason}").stdout


def conditions(cluster: Cluster, name: str) -> str:
    """Return the conditions of a profile, empty before the operator has written some."""
    return cluster.kubectl("get", "schedulerprofile", name, "--output=jsonpath={.status.conditions}").stdout


def holder(cluster: Cluster) -> str:
    """Return who leads the operators."""
    leases = ("get", "leases", "--namespace", NAMESPACE, "--output=jsonpath={.items[*].spec.holderIdentity}")
    return cluster.kubectl(*leases).stdout
