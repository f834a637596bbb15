"""A cluster in which the operator is installed: what the stories act on and look at."""

import os
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import yaml

from devcluster import Cluster
from devcluster.model.api import AdminApi
from examples.demo.installation import NAMESPACE, install_operator
from examples.demo.kubectl import Kubectl
from scheduler_operator.resources import kinds
from tests.support.eventually import eventually
from tests.support.reading import KINDS, get_or_none, read

T = TypeVar("T")
Object = dict[str, Any]

UNHURRIED = {"leaderElection": {"leaseDuration": "60s", "renewDeadline": "40s", "retryPeriod": "2s"}}
"""The scheduler of a profile that is not to lose the Lease, and start again, because the machine is slow."""


@dataclass(frozen=True, slots=True)
class World:
    """One installed operator and the cluster around it. ``kill`` ends the program of a pod at once, unasked.

    What is looked at again and again is read through ``api``: each run of kubectl takes longer than the answer.
    """

    api: AdminApi
    kubectl: Kubectl
    pod_image: str
    kill: Callable[["World", Object], None]
    tolerations: list[Object] = field(default_factory=list)

    # What can be done.

    def apply(self, *objects: Object) -> None:
        self.kubectl("apply", "--server-side", "--filename=-", text=yaml.safe_dump_all(objects))

    def profile(self, name: str, **spec: Any) -> Object:
        """A SchedulerProfile with quick leader election: stories in which a leader is killed wait for its lease."""
        election = {"leaseDuration": "8s", "renewDeadline": "6s", "retryPeriod": "1s"}
        scheduler = {"replicas": 2, "leaderElection": election, **spec.pop("scheduler", {})}
        return {
            "apiVersion": "berth.dev/v1alpha1",
            "kind": "SchedulerProfile",
            "metadata": {"name": name},
            "spec": {"scheduler": scheduler, **spec},
        }

    def deployment(self, name: str, scheduler: str, replicas: int, requests: Mapping[str, str]) -> Object:
        """Pods that only wait, for the scheduler of that name."""
        labels = {"app": name}
        container = {
            "name": "pause",
            "image": self.pod_image,
            "command": ["sleep", "infinity"],
            "resources": {"requests": dict(requests)},
        }
        pod = {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "tolerations": self.tolerations,
            "containers": [container],
        }
        template = {"metadata": {"labels": labels}, "spec": pod}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        }

    # What can be seen.

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        return get_or_none(self.api, f"{KINDS[kind].collection(namespace)}/{name}")

    def pods(self, app: str) -> list[Object]:
        selector = f"labelSelector={quote(f'app={app}')}"
        listed: list[Object] = read(self.api, f"{kinds.POD.collection('default')}?{selector}")["items"]
        return listed

    def bound(self, app: str) -> list[Object]:
        return [pod for pod in self.pods(app) if pod["spec"].get("nodeName")]

    def condition(self, profile: str, kind: str) -> Object:
        """The profile's condition of that type; ``{}`` when it has none, or one about an older generation."""
        item = self.get("schedulerprofile", profile)
        assert item is not None, f"profile {profile} is gone"
        conditions = item.get("status", {}).get("conditions", [])
        current = [c for c in conditions if c["observedGeneration"] == item["metadata"]["generation"]]
        return next((c for c in current if c["type"] == kind), {})

    def is_ready(self, profile: str) -> bool:
        """Whether a leader schedules, as many others as wanted stand by, and nothing is about to change."""
        kinds = {kind: self.condition(profile, kind).get("status") for kind in ("Ready", "Redundant", "Reconciling")}
        return kinds in ({"Ready": "True", "Redundant": among, "Reconciling": None} for among in ("True", None))

    def pod(self, name: str) -> Object:
        """A pod of Berth's own."""
        item = self.get("pod", name, NAMESPACE)
        assert item is not None, f"pod {name} is gone"
        return item

    def identity(self, lease: str) -> str:
        """Who holds the Lease, or ``""``."""
        item = self.get("lease", lease, NAMESPACE) or {}
        return str(item.get("spec", {}).get("holderIdentity") or "")

    def holder(self, lease: str) -> str:
        """The name of the pod that holds the Lease, or ``""``."""
        return self.identity(lease).partition("_")[0]

    def eventually(self, check: Callable[[], T | None], timeout: float) -> T:
        return eventually(check, timeout, explain=self.describe)

    def describe(self) -> str:
        """Objects, events and logs, for whoever has to find out why a story failed."""
        looks = [
            ("get", "schedulerprofiles", "--output=yaml"),
            ("get", "pods,deployments", "--all-namespaces", "--output=wide"),
            ("get", "leases", f"--namespace={NAMESPACE}"),
            ("get", "events", "--all-namespaces", "--field-selector=type=Warning", "--sort-by=.lastTimestamp"),
        ]
        return "\n\n".join(f"$ kubectl {' '.join(look)}\n{self.kubectl(*look)[-6000:]}" for look in looks)


@contextmanager
def on_process_nodes(cluster: Cluster, image: str = "berth:test", *values: str) -> Iterator[World]:
    """The operator, installed where pods run as processes of this machine, and fake nodes are for deployments.

    ``values`` are the chart's, beside the image.
    """
    kubectl = Kubectl(cluster.env())
    kubectl("taint", "nodes", "--selector=type=kwok", "kwok.x-k8s.io/node=fake:NoSchedule")
    install_operator(kubectl, image, *values)
    everywhere = [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]
    with AdminApi(cluster.server, cluster.ca, cluster.token) as api:
        yield World(api, kubectl, "devcluster/pause", kill_process, everywhere)


def kill_process(world: World, pod: Object) -> None:
    """End a pod's program on a process node, where it is a process of this machine."""
    container = pod["status"]["containerStatuses"][0]["containerID"]
    os.kill(int(container.removeprefix("process://")), signal.SIGKILL)


def kill_container(world: World, pod: Object) -> None:
    """End a pod in containers at once, with no time to say goodbye."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    world.kubectl("delete", "pod", name, f"--namespace={namespace}", "--grace-period=0", "--force")


def overcommitted(nodes: list[Object], pods: list[Object]) -> list[str]:
    """The nodes that were given more than they have of anything, computed from the API alone."""
    requested: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in pods:
        if node := pod["spec"].get("nodeName"):
            requested[node]["pods"] += 1000
            for container in pod["spec"]["containers"]:
                for resource, quantity in container.get("resources", {}).get("requests", {}).items():
                    requested[node][resource] += thousandths(quantity)
    room = {node["metadata"]["name"]: node["status"]["allocatable"] for node in nodes}
    return [
        f"{node}: {amount / 1000:g} {resource} of {room[node].get(resource, 0)}"
        for node, wants in requested.items()
        for resource, amount in wants.items()
        if amount > thousandths(room[node].get(resource, "0"))
    ]


SUFFIXES = {"m": 1, "Ki": 2**10 * 1000, "Mi": 2**20 * 1000, "Gi": 2**30 * 1000}


def thousandths(quantity: str) -> int:
    """A quantity as these tests write them."""
    for suffix, factor in SUFFIXES.items():
        if quantity.endswith(suffix):
            return int(quantity.removesuffix(suffix)) * factor
    return int(quantity) * 1000
