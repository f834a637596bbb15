"""The command lines of the components, and the configuration of the process node."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devcluster.controlplane.credentials import Credentials, User
from devcluster.model.spec import Spec

STAGES = Path(__file__).parent / "stages"
FAKE_NODE = ("kwok.x-k8s.io/node", "fake")  # the annotation that gives a node to kwok
FAKE_NODE_ADDRESS = "192.0.2.1"  # not loopback: a pod with a host port there would meet a real conflict
PROCESS_NODE = "process-0"

# The process node has what a kubelet has: the Node authorizer limits it to the pods bound to it.
USERS = {
    "admin": User("admin", "system:masters"),
    "kube-controller-manager": User("system:kube-controller-manager"),
    "kube-scheduler": User("system:kube-scheduler"),
    "kwok": User("kwok", "system:masters"),
    "node": User(f"system:node:{PROCESS_NODE}", "system:nodes"),
}


@dataclass(frozen=True, slots=True)
class Ports:
    etcd: int
    etcd_peer: int
    apiserver: int

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self.apiserver}"


@dataclass(frozen=True, slots=True)
class Site:
    """Everything that the command lines are made from."""

    spec: Spec
    directory: Path
    binaries: Mapping[str, Path]
    credentials: Credentials
    ports: Ports

    def program(self, name: str) -> str:
        return str(self.binaries[name])

    def kubeconfig(self, who: str) -> str:
        return str(self.credentials.kubeconfig(who))


def etcd(site: Site) -> list[str]:
    client, peer = (f"http://127.0.0.1:{port}" for port in (site.ports.etcd, site.ports.etcd_peer))
    return [
        site.program("etcd"),
        f"--data-dir={site.directory / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # nothing here outlives the machine
        *site.spec.etcd_args,
    ]


def apiserver(site: Site) -> list[str]:
    unserved = [] if site.spec.controller_manager else ["ServiceAccount", "TaintNodesByCondition"]
    return [
        site.program("kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{site.ports.etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={site.ports.apiserver}",
        "--endpoint-reconciler-type=none",  # an Endpoints object may not hold a loopback address
        f"--tls-cert-file={site.credentials.certificate}",
        f"--tls-private-key-file={site.credentials.key}",
        f"--client-ca-file={site.credentials.ca}",
        f"--token-auth-file={site.credentials.token_file}",
        "--authorization-mode=Node,RBAC",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={site.credentials.service_account_key}",
        f"--service-account-signing-key-file={site.credentials.service_account_key}",
        "--allow-privileged",
        "--profiling=false",
        *([f"--disable-admission-plugins={','.join(unserved)}"] if unserved else []),
        *site.spec.apiserver_args,
    ]


def controller_manager(site: Site) -> list[str]:
    return [
        site.program("kube-controller-manager"),
        f"--kubeconfig={site.kubeconfig('kube-controller-manager')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={site.credentials.service_account_key}",
        f"--root-ca-file={site.credentials.ca}",
        f"--flex-volume-plugin-dir={site.directory / 'flex'}",  # else it makes one below /usr/libexec
        # no Service has anybody who forwards to it, and endpoints may not be on loopback
        "--controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller",
        "--kube-api-qps=1000",  # at the default of 20 the first ServiceAccount comes 5 s late
        "--kube-api-burst=2000",
        *site.spec.kcm_args,
    ]


def scheduler(site: Site) -> list[str]:
    return [
        site.program("kube-scheduler"),
        f"--kubeconfig={site.kubeconfig('kube-scheduler')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=5000",
        "--kube-api-burst=5000",
        *site.spec.scheduler_args,
    ]


def kwok(site: Site) -> list[str]:
    return [
        site.program("kwok"),
        f"--kubeconfig={site.kubeconfig('kwok')}",
        f"--manage-nodes-with-annotation-selector={'='.join(FAKE_NODE)}",
        "--cidr=10.244.0.0/16",
        f"--node-ip={FAKE_NODE_ADDRESS}",
        "--node-lease-duration-seconds=40",
        *(f"--config={stage}" for stage in sorted(STAGES.glob("*.yaml"))),
    ]


def node(site: Site) -> list[str]:
    return [sys.executable, "-P", "-m", "devcluster.node", "--config", str(site.directory / "node.json")]


def node_config(site: Site) -> str:
    """The process node's own configuration file."""
    return json.dumps(
        {
            "server": site.ports.server,
            "ca_file": str(site.credentials.ca),
            "token_file": str(site.credentials.token("node")),
            "node_name": PROCESS_NODE,
            "directory": str(site.directory / "node"),
            "images": dict(site.spec.images),
        },
        indent=1,
        default=dict,
    )
