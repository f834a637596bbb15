"""The contenders: kube-scheduler, ours, and the loader that shows the limit of the API server itself."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import devcluster
from bench.cluster.client import read_page
from devcluster import Cluster
from devcluster.guard import Guard
from devcluster.system.ports import free_port
from devcluster.system.processes import Process

START_SECONDS = 120.0
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Site:
    """The cluster, version and port for the command line of a contender."""

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
    """A scheduler of the comparison."""

    name: str
    command: Callable[[Site], list[str]]
    decides: bool = True
    """True if it checks where pods may go."""


def kube_scheduler(site: Site) -> list[str]:
    return [str(devcluster.binaries("kube-scheduler", kubernetes=site.kubernetes)["kube-scheduler"]), *site.serving]


def berth(site: Site) -> list[str]:
    return [sys.executable, "-P", "-m", "scheduler_runtime", *site.serving]


def limit(site: Site) -> list[str]:
    return [sys.executable, "-m", "bench.side_by_side.api_server_limit", str(site.kubeconfig), str(site.port)]


def berth_watched(site: Site) -> list[str]:
    """Ours, with a record of its pauses."""
    return [sys.executable, "-m", "bench.side_by_side.pauses", str(pauses_file(site.cluster)), *site.serving]


def pauses_file(cluster: Cluster) -> Path:
    return cluster.directory / "pauses.json"


KUBE_SCHEDULER = Contender("kube-scheduler", kube_scheduler)
BERTH = Contender("berth", berth)
LIMIT = Contender("limit", limit, decides=False)
WATCHED = Contender("berth-watched", berth_watched)
CONTENDERS = {contender.name: contender for contender in (KUBE_SCHEDULER, BERTH, LIMIT)}


def start(
    contender: Contender,
    cluster: Cluster,
    kubernetes: str,
    *,
    is_ready: bool = True,
    qps: int = 5000,
    port: int | None = None,
) -> Process:
    """Start a contender in the cluster's care; with ``is_ready``, it has listed everything when this returns.

    It serves its pages on ``port``, if one is given. Raises RuntimeError with the end of its log when it does not
    become ready.
    """
    site = Site(cluster, kubernetes, port or free_port())
    site.document.write_text(json.dumps(document(site.kubeconfig, qps), indent=1))
    process = Guard(cluster.directory).start(contender.name, contender.command(site), environment(cluster))
    if is_ready:
        _await_ready(contender, cluster, process, site.port)
    return process


def stop(contender: Contender, cluster: Cluster) -> None:
    """End a contender at once."""
    Guard(cluster.directory).stop(contender.name)


def document(kubeconfig: Path, qps: int) -> Mapping[str, object]:
    """The document of all contenders: the defaults, except for the settings that the comparison needs."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": qps, "burst": 2 * qps},
        "leaderElection": {"leaderElect": False},
    }


def environment(cluster: Cluster) -> dict[str, str]:
    """The environment of a contender: nothing of ours that could change its speed."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(cluster.directory),
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }


def _await_ready(contender: Contender, cluster: Cluster, process: Process, port: int) -> None:
    until = time.monotonic() + START_SECONDS
    scheme = "https" if contender.decides else "http"
    while True:
        with contextlib.suppress(OSError):  # does not listen yet, or is not ready: an HTTP error is an OSError too
            read_page(f"{scheme}://127.0.0.1:{port}/readyz", 5)
            return
        if not process.is_alive or time.monotonic() > until:
            log = cluster.logs(contender.name).read_text(errors="replace")
            raise RuntimeError(f"{contender.name} did not become ready; its last words:\n{log[-1500:]}")
        time.sleep(0.05)
