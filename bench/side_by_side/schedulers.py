"""Who binds the pods: kube-scheduler, ours, and what shows the limit of the API server itself."""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import devcluster
from devcluster import Cluster
from devcluster.guard import Guard
from devcluster.system.ports import free_ports
from devcluster.system.processes import Process

START_SECONDS = 120.0
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Site:
    """What a contender is started with."""

    cluster: Cluster
    kubernetes: str
    port: int

    @property
    def kubeconfig(self) -> Path:
        """Every contender is the same user to the API server, and so has the same share of it."""
        return self.cluster.directory / "credentials" / "kube-scheduler.kubeconfig"

    @property
    def document(self) -> Path:
        return self.cluster.directory / "document.yaml"

    @property
    def serving(self) -> list[str]:
        return [
            f"--config={self.document}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--authentication-kubeconfig={self.kubeconfig}",
            f"--authorization-kubeconfig={self.kubeconfig}",
        ]


@dataclass(frozen=True, slots=True)
class Contender:
    """One of those that are compared."""

    name: str
    command: Callable[[Site], list[str]]
    decides: bool = True
    """Whether it looks where pods may go."""


def kube_scheduler(site: Site) -> list[str]:
    return [str(devcluster.binaries("kube-scheduler", kubernetes=site.kubernetes)["kube-scheduler"]), *site.serving]


def berth(site: Site) -> list[str]:
    return [sys.executable, "-P", "-m", "scheduler_runtime", *site.serving]


def limit(site: Site) -> list[str]:
    return [sys.executable, "-m", "bench.side_by_side.api_server_limit", str(site.kubeconfig), str(site.port)]


def berth_watched(site: Site) -> list[str]:
    """Ours, with its own pauses written down when it ends."""
    return [sys.executable, "-m", "bench.side_by_side.pauses", str(pauses_file(site.cluster)), *site.serving]


def pauses_file(cluster: Cluster) -> Path:
    return cluster.directory / "pauses.json"


KUBE_SCHEDULER = Contender("kube-scheduler", kube_scheduler)
BERTH = Contender("berth", berth)
LIMIT = Contender("limit", limit, decides=False)
WATCHED = Contender("berth-watched", berth_watched)
CONTENDERS = {each.name: each for each in (KUBE_SCHEDULER, BERTH, LIMIT)}


def start(contender: Contender, cluster: Cluster, kubernetes: str, *, is_ready: bool = True) -> Process:
    """Start a contender in the cluster's care; it has listed everything when this returns, if ``is_ready``.

    Raises RuntimeError with its last words when it ends instead.
    """
    site = Site(cluster, kubernetes, free_ports(1)[0])
    site.document.write_text(json.dumps(document(site.kubeconfig), indent=1))
    process = Guard(cluster.directory).start(contender.name, contender.command(site), environment(cluster))
    if is_ready:
        _await_ready(contender, cluster, process, site.port)
    return process


def stop(contender: Contender, cluster: Cluster) -> None:
    """End a contender at once."""
    Guard(cluster.directory).stop(contender.name)


def document(kubeconfig: Path) -> Mapping[str, object]:
    """The same document for all: nothing but what the comparison needs is other than the default."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
        "leaderElection": {"leaderElect": False},
    }


def environment(cluster: Cluster) -> dict[str, str]:
    """What the process needs of ours, and nothing that changes how fast it is."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(cluster.directory),
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }


def _await_ready(contender: Contender, cluster: Cluster, process: Process, port: int) -> None:
    until = time.monotonic() + START_SECONDS
    scheme = "https" if contender.decides else "http"
    while not _answers(f"{scheme}://127.0.0.1:{port}/readyz"):
        if not process.is_alive or time.monotonic() > until:
            log = cluster.logs(contender.name).read_text(errors="replace")
            raise RuntimeError(f"{contender.name} did not become ready; its last words:\n{log[-1500:]}")
        time.sleep(0.05)


def _answers(address: str) -> bool:
    trusting = ssl._create_unverified_context()  # noqa: S323 - nobody signs the certificate it makes for itself
    try:
        with urllib.request.urlopen(address, timeout=5, context=trusting) as answer:  # noqa: S310 - loopback
            return bool(answer.status == 200)
    except OSError:  # not there yet, or not ready: its error is one too
        return False
