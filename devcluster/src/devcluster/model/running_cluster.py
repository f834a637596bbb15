"""A running cluster: its credentials, and the means to stop and start its components."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from devcluster.guard import Guard
from devcluster.model.api import AdminApi
from devcluster.system.errors import DevclusterError, PortInUseError
from devcluster.system.files import write_atomically
from devcluster.system.processes import Process

READY_SECONDS = 90.0
LOG_TAIL = 1500


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster, with its administrator's credentials.

    Everything of it is in ``directory``: kubeconfigs, logs, data. kubectl of the cluster's version is
    first in the PATH that ``env`` returns.
    """

    name: str
    directory: Path
    server: str
    kubeconfig: Path
    version: str
    ca: bytes = field(repr=False)
    token: str = field(repr=False)

    def env(self) -> dict[str, str]:
        """The environment of this process, changed so that programs started with it use this cluster."""
        return {**os.environ, **self.variables()}

    def variables(self) -> dict[str, str]:
        """The variables that ``env`` changes.

        kubectl caches a server's API by its address, and ports are used again: so each cluster has a cache
        of its own. Its user's preferences stay out, so that a command means the same everywhere.
        """
        return {
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.directory / "kube-cache"),
            "KUBERC": "off",
            "PATH": f"{self.directory / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }

    def kubectl(self, *args: str, input: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:  # noqa: A002 - as in subprocess
        """Run kubectl as administrator. With ``check``, raises DevclusterError with kubectl's message if it fails."""
        answer = subprocess.run(
            [self.directory / "bin" / "kubectl", *args],
            input=input,
            env=self.env(),
            capture_output=True,
            text=True,
            check=False,
        )
        if check and answer.returncode != 0:
            raise DevclusterError(f"kubectl {' '.join(args)}: {answer.stderr.strip()}")
        return answer

    def logs(self, component: str) -> Path:
        """The log of a component."""
        return self.directory / f"{component}.log"

    def pids(self) -> dict[str, int]:
        """The components that run now, and their pids."""
        return {name: process.pid for name, process in self._guard.components().items()}

    def stop(self, component: str) -> None:
        """End a component as a crash would."""
        self._guard.stop(component)

    def start(self, component: str) -> None:
        """Start a stopped component with its old command; the API server answers when this returns."""
        process = self._guard.start(component)
        if component == "kube-apiserver":
            with AdminApi(self.server, self.ca, self.token) as api:
                wait("the API server", api.is_ready, {component: process}, self.directory)

    def save(self) -> None:
        """Let ``load`` find the cluster."""
        facts = {"name": self.name, "server": self.server, "version": self.version, "kubeconfig": str(self.kubeconfig)}
        secret = {"ca": self.ca.decode(), "token": self.token}
        write_atomically(self.directory / "cluster.json", json.dumps(facts | secret, indent=1), mode=0o600)

    @property
    def _guard(self) -> Guard:
        return Guard(self.directory)


def load(directory: Path) -> Cluster | None:
    """The cluster in ``directory``, if one was finished there."""
    try:
        facts = json.loads((directory / "cluster.json").read_text())
    except FileNotFoundError:
        return None
    return Cluster(
        name=facts["name"],
        directory=directory,
        server=facts["server"],
        kubeconfig=Path(facts["kubeconfig"]),
        version=facts["version"],
        ca=facts["ca"].encode(),
        token=facts["token"],
    )


def wait(
    what: str, check: Callable[[], bool], needed: Mapping[str, Process], directory: Path, *, every: float = 0.02
) -> None:
    """Wait until ``check`` is true.

    Raises DevclusterError when that takes too long, and at once when one of the processes in ``needed`` has ended.
    """
    until = time.monotonic() + READY_SECONDS
    while not check():
        for name, process in needed.items():
            if not process.is_alive:
                raise _ended(name, what, directory / f"{name}.log")
        if time.monotonic() > until:
            raise DevclusterError(f"{what} is not ready after {READY_SECONDS:.0f} s: see the logs in {directory}")
        time.sleep(every)


def _ended(name: str, what: str, log: Path) -> DevclusterError:
    text = log.read_text(errors="replace")
    if "address already in use" in text:
        return PortInUseError(f"{name} found its port in use: try again")
    if "no space left on device" in text:
        return DevclusterError(f"{name} ended because the disk is full: free some room in {log.parent.parent}")
    return DevclusterError(f"{name} ended while {what} was waited for; its last words:\n{text[-LOG_TAIL:].strip()}")
