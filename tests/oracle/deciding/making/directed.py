"""Clusters made for one reason each, which chance alone brings about too rarely."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.oracle.deciding.making.clusters import Cluster
from tests.oracle.deciding.making.dice import Object
from tests.oracle.deciding.making.pods import REQUIRED
from tests.oracle.deciding.making.words import GPU, HOSTNAME, HUGE, ZONE

Make = Callable[[], Cluster]


def node(number: int, **spec: object) -> Object:
    """A node of some size."""
    name = f"node-{number}"
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10", "ephemeral-storage": "10Gi"}
    labels = {HOSTNAME: name, ZONE: "ab"[number % 2], "pool": "web"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": allocatable, "capacity": {}},
    }


def pod(name: str, requests: Mapping[str, str] | None = None, **spec: object) -> Object:
    """A pod that comes."""
    container = {
        "name": "c",
        "image": "nginx",
        "resources": {"requests": dict(requests or {}), "limits": _fixed(requests)},
    }
    metadata = {"name": name, "namespace": "alpha", "labels": {"app": "web"}}
    body = {"schedulerName": "plain", "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def _fixed(requests: Mapping[str, str] | None) -> Object:
    """Of devices and huge pages a container gets what it asks for and no more."""
    return {name: amount for name, amount in (requests or {}).items() if name in (GPU, HUGE)}


def running(name: str, node: str, requests: Mapping[str, str] | None = None, **spec: object) -> Object:
    """A pod that runs."""
    new_pod = pod(name, requests, nodeName=node, **spec)
    # Of pods that started together any may be evicted first.
    new_pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T00:00:{int(name.rpartition('-')[2]):02}Z"}
    return new_pod


def _near(labels: Object) -> list[Object]:
    return [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}]


def cluster_of(name: str, *incoming: Object, pods: tuple[Object, ...] = (), nodes: int = 3) -> Cluster:
    """A cluster of equal nodes."""
    return Cluster(name, [node(number) for number in range(nodes)], list(pods), [], list(incoming))


def _names(*names: str) -> Object:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    terms = [{"matchFields": fields}]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


def no_nodes() -> Cluster:
    return cluster_of("no nodes", pod("new-0"), nodes=0)


def unschedulable_nodes() -> Cluster:
    cluster = cluster_of("unschedulable nodes", pod("new-0"))
    for node in cluster.nodes:
        node["spec"]["unschedulable"] = True
    return cluster


def tainted_nodes() -> Cluster:
    cluster = cluster_of("tainted nodes", pod("new-0"))
    for node in cluster.nodes:
        node["spec"]["taints"] = [{"key": "dedicated", "effect": "NoSchedule"}]
    return cluster


def conflicting_names() -> Cluster:
    return cluster_of("conflicting names", pod("new-0", affinity=_names("node-0", "node-1")))


def one_name_that_does_not_fit() -> Cluster:
    return cluster_of("one name that does not fit", pod("new-0", {"cpu": "40"}, affinity=_names("node-1")))


def enforced_affinity() -> Cluster:
    return cluster_of("enforced affinity", pod("new-0", schedulerName="pooled"))


def every_resource_is_short() -> Cluster:
    requests = [{"cpu": "5"}, {"memory": "9Gi"}, {"ephemeral-storage": "11Gi"}, {GPU: "1"}, {HUGE: "2Mi", "cpu": "1"}]
    cluster = cluster_of(
        "every resource is short", *(pod(f"new-{number}", request) for number, request in enumerate(requests))
    )
    cluster.nodes[0]["status"]["allocatable"][GPU] = "0"
    return cluster


def too_many_pods() -> Cluster:
    pods = tuple(running(f"run-{number}", f"node-{number % 3}") for number in range(30))
    return cluster_of("too many pods", pod("new-0"), pod("new-1", priority=10), pods=pods)


def ports_are_in_use() -> Cluster:
    ports = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    pods = [running(f"run-{number}", f"node-{number}") for number in range(3)]
    coming = pod("new-0")
    for one in (*pods, coming):
        one["spec"]["containers"][0] |= ports
    return cluster_of("ports are taken", coming, pods=tuple(pods))


def spread_is_uneven() -> Cluster:
    rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}
    uneven = [{**rule, "topologyKey": ZONE, "minDomains": 5}]
    unlabelled = [{**rule, "topologyKey": "example.com/nowhere"}]
    pods = tuple(running(f"run-{number}", f"node-{number}") for number in range(3))
    coming = [pod("new-0", topologySpreadConstraints=uneven), pod("new-1", topologySpreadConstraints=unlabelled)]
    return cluster_of("spread is uneven", *coming, pods=pods)


def pods_keep_apart() -> Cluster:
    apart, together = (
        {"podAntiAffinity": {REQUIRED: _near({"app": "web"})}},
        {"podAffinity": {REQUIRED: _near({"app": "db"})}},
    )
    pods = tuple(running(f"run-{number}", f"node-{number}") for number in range(3))
    return cluster_of("pods keep apart", pod("new-0", affinity=apart), pod("new-1", affinity=together), pods=pods)


def others_keep_apart() -> Cluster:
    apart = {"podAntiAffinity": {REQUIRED: _near({"app": "web"})}}
    pods = tuple(running(f"run-{number}", f"node-{number}", affinity=apart) for number in range(3))
    return cluster_of("others keep apart", pod("new-0"), pods=pods)


def who_may_not_preempt() -> Cluster:
    pods = tuple(running(f"run-{number}", f"node-{number}", {"cpu": "3"}) for number in range(3))
    return cluster_of(
        "who may not preempt", pod("new-0", {"cpu": "2"}, priority=5, preemptionPolicy="Never"), pods=pods
    )


def who_preempted_already() -> Cluster:
    leaving = running("run-0", "node-0", {"cpu": "3"})
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:10:00Z"
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    leaving["status"]["conditions"] = [condition]
    coming = pod("new-0", {"cpu": "2"}, priority=5)
    coming["status"] = {"nominatedNodeName": "node-0"}
    return cluster_of("who preempted already", coming, pods=(leaving,), nodes=1)


def room_is_reserved_for_the_nominated() -> Cluster:
    waits = pod("new-0", {"cpu": "3"}, priority=9, preemptionPolicy="Never", nodeSelector={"no": "node"})
    waits["status"] = {"nominatedNodeName": "node-1"}
    others = [pod(f"new-{number}", {"cpu": "2"}, priority=priority) for number, priority in ((1, 9), (2, 10), (3, 1))]
    return cluster_of("room is kept for the nominated", waits, *others)


def a_port_is_bound_twice() -> Cluster:
    ports = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    pods = (running("run-0", "node-0"), running("run-1", "node-0", priority=100))
    coming = pod("new-0", priority=5)
    for one in (*pods, coming):
        one["spec"]["containers"][0] |= ports
    return cluster_of("a port is bound twice", coming, pods=pods, nodes=1)


def an_image_comes_later() -> Cluster:
    images = {"images": [{"names": ["docker.io/library/nginx:latest"], "sizeBytes": 900_000_000}]}
    elsewhere = pod("new-0", nodeSelector={HOSTNAME: "node-2"})
    coming = pod("new-1")
    for one in (elsewhere, coming):
        one["spec"]["containers"][0]["image"] = "docker.io/library/nginx:latest"
    cluster = cluster_of("an image comes later", elsewhere, coming)
    cluster.nodes[0]["status"] |= images
    cluster.changes["new-1"] = node(1)
    cluster.changes["new-1"]["status"] |= images
    return cluster


def preemption_is_under_way() -> Cluster:
    pods = tuple(running(f"run-{n}", "node-0", {"cpu": "100m"}, terminationGracePeriodSeconds=0) for n in range(30))
    cluster = cluster_of("room is being made", pod("new-0", {"cpu": "3500m"}, priority=5), pods=pods, nodes=1)
    cluster.nodes[0]["status"]["allocatable"]["pods"] = "110"
    return cluster


def amounts_beyond_64_bits() -> Cluster:
    """Go makes 0, a wrapped number or the largest of them, by how they are written; sums on a node wrap as well."""
    largest = "9223372036854775807"
    offers = (
        {"pods": "1e25"},
        {"cpu": "1e30", "memory": "9E"},
        {"cpu": "9200000000000000", "memory": "99999999999999999999"},
        {"memory": "8Ei", "ephemeral-storage": largest},
        {"memory": largest, "pods": "9Ei"},
    )
    requests: tuple[dict[str, str], ...] = (
        {"cpu": "1"},
        {"memory": "9E"},
        {"memory": "8Ei"},
        {"memory": largest, "cpu": "1"},
        {"cpu": "1e25"},
        {"memory": "10000000000000000000"},
        {"memory": "1e25", "ephemeral-storage": "8Ei"},
        {"memory": "1Gi"},
    )
    pods = tuple(running(f"run-{number}", "node-4", {"memory": largest}) for number in range(2))
    incoming = (pod(f"new-{number}", request) for number, request in enumerate(requests))
    cluster = cluster_of("amounts beyond 64 bits", *incoming, pods=pods, nodes=len(offers))
    for offered, amounts in zip(cluster.nodes, offers, strict=True):
        offered["status"]["allocatable"] |= amounts
    return cluster


def a_score_wraps_around() -> Cluster:
    """Upstream's BalancedAllocation scores such a pod far below 0, and its attempt fails."""
    cluster = cluster_of("a score wraps around", pod("new-0", {"cpu": "9223372036854776", "memory": "1Gi"}))
    for number, node in enumerate(cluster.nodes):
        node["status"]["allocatable"] |= {"cpu": "9200000000000000", "memory": ("8Ei", "9E", "1Ti")[number]}
    return cluster


def features_are_missing() -> Cluster:
    coming = pod("new-0")
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    coming["spec"]["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    return cluster_of("features are missing", coming)


DIRECTED: Mapping[str, Make] = {
    make.__name__: make
    for make in (
        no_nodes,
        unschedulable_nodes,
        tainted_nodes,
        conflicting_names,
        one_name_that_does_not_fit,
        enforced_affinity,
        every_resource_is_short,
        too_many_pods,
        ports_are_in_use,
        spread_is_uneven,
        pods_keep_apart,
        others_keep_apart,
        who_may_not_preempt,
        who_preempted_already,
        room_is_reserved_for_the_nominated,
        amounts_beyond_64_bits,
    )
}
