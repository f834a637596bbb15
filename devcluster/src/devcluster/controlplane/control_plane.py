"""Starting a control plane: each component as soon as the components that it needs are ready."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from devcluster.controlplane import components, credentials, kwok_nodes
from devcluster.controlplane.components import Ports, Site
from devcluster.guard import Guard
from devcluster.model.api import AdminApi
from devcluster.model.running_cluster import Cluster, wait
from devcluster.model.spec import Spec
from devcluster.system.errors import PortInUseError
from devcluster.system.ports import free_ports
from devcluster.system.processes import Process

ATTEMPTS = 5
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "GOMAXPROCS")


def start(
    spec: Spec,
    guard: Guard,
    binaries: Mapping[str, Path],
    *,
    ports: Callable[[int], Sequence[int]] = free_ports,
) -> Cluster:
    """Start the control plane of ``spec`` in the guard's directory and wait until it can be used.

    Another program may take a port after it was picked and before it is used; then others are tried.
    """
    secrets = credentials.make(guard.directory / "credentials", components.USERS)
    (guard.directory / "bin").mkdir()
    for name, path in binaries.items():
        (guard.directory / "bin" / name).symlink_to(path)
    attempt = 1
    while True:
        site = Site(spec, guard.directory, binaries, secrets, Ports(*ports(3)))
        with AdminApi(site.ports.server, secrets.ca.read_bytes(), secrets.tokens["admin"]) as api:
            boot = _Boot(site, guard, api)
            try:
                return boot.run()
            except PortInUseError:
                if attempt == ATTEMPTS:
                    raise
                boot.undo()
                attempt += 1


class _Boot:
    """One attempt to start everything."""

    def __init__(self, site: Site, guard: Guard, api: AdminApi) -> None:
        self._site = site
        self._guard = guard
        self._api = api
        self._started: dict[str, Process] = {}

    def run(self) -> Cluster:
        spec, site = self._site.spec, self._site
        credentials.write_kubeconfigs(site.credentials, site.ports.server, spec.name)
        self._start("etcd", components.etcd(site))
        # Without this the API server's first dial fails, and it waits a second before the next.

        def etcd_accepts() -> bool:
            try:
                socket.create_connection(("127.0.0.1", site.ports.etcd), timeout=1).close()
            except OSError:
                return False
            return True

        self._await("etcd", etcd_accepts)
        self._start("kube-apiserver", components.apiserver(site))
        self._await("the API server", self._api.is_ready)
        if spec.controller_manager:
            self._start("kube-controller-manager", components.controller_manager(site))
        if spec.scheduler:
            self._start("kube-scheduler", components.scheduler(site))
        if spec.node == "process":
            (site.directory / "node.json").write_text(components.node_config(site))
            self._started["node"] = self._guard.start("node", components.node(site), os.environ)
        if spec.fake_nodes:
            kwok_nodes.create(self._api, spec.fake_nodes)
            self._start("kwok", components.kwok(site))
        self._await_usable()
        return Cluster(
            name=spec.name,
            directory=site.directory,
            server=site.ports.server,
            kubeconfig=site.credentials.kubeconfig("admin"),
            version=self._api.get("/version")["gitVersion"],
            ca=site.credentials.ca.read_bytes(),
            token=site.credentials.tokens["admin"],
        )

    def undo(self) -> None:
        """End what was started, for another attempt."""
        for name in self._started:
            if name in self._guard.components():
                self._guard.stop(name)
            (self._site.directory / f"{name}.log").unlink()
        shutil.rmtree(self._site.directory / "etcd", ignore_errors=True)

    def _await_usable(self) -> None:
        spec = self._site.spec
        if spec.controller_manager:
            account = "/api/v1/namespaces/default/serviceaccounts/default"
            self._await("the default ServiceAccount", lambda: self._api.exists(account))
        if spec.fake_nodes:
            self._await("every fake node", lambda: kwok_nodes.are_usable(self._api, spec.fake_nodes), every=0.1)
        if spec.node == "process":
            node = f"/api/v1/nodes/{components.PROCESS_NODE}"
            self._await(
                "the process node", lambda: self._api.exists(node) and kwok_nodes.is_usable(self._api.get(node))
            )

    def _start(self, name: str, argv: list[str]) -> None:
        """Start a component with few variables, so that the caller's environment changes nothing about it."""
        inherited = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
        self._started[name] = self._guard.start(name, argv, {**inherited, "HOME": str(self._site.directory)})

    def _await(self, what: str, check: Callable[[], bool], *, every: float = 0.02) -> None:
        wait(what, check, self._started, self._site.directory, every=every)
