"""Made-up pods: those that run, and those that come."""

from __future__ import annotations

from tests.oracle.deciding.making.demands import containers, resized
from tests.oracle.deciding.making.dice import Dice, Object
from tests.oracle.deciding.making.selectors import namespaces, node_affinity, pod_labels, pod_selector
from tests.oracle.deciding.making.themes import Theme
from tests.oracle.deciding.making.words import (
    HOSTNAME,
    LEVELS,
    NAMESPACES,
    PRIORITIES,
    RACK,
    TAINTS,
    URGENCIES,
    ZONE,
    ZONES,
)

ADDRESSES = ("127.0.0.1", "192.0.2.7", "0.0.0.0")  # noqa: S104 - no one listens there
FINISHED = ("Succeeded", "Failed")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
VOLUMES: tuple[Object, ...] = (
    {"image": {"reference": "registry.example/app:v2"}},
    {"image": {"reference": "nginx"}},
    {"emptyDir": {}},
    {"configMap": {"name": "some"}},
)
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def running(dice: Dice, theme: Theme, number: int, node: str) -> Object:
    """A pod that runs on ``node``."""
    pod = _pod(dice, theme, f"run-{number}")
    spec = pod["spec"]
    spec["nodeName"] = node
    if dice.chance(theme.unequal):
        spec["priority"] = dice.pick(PRIORITIES)
    pod["status"] = {"phase": "Running"}
    if dice.chance(theme.unusual // 2):
        pod["status"] |= resized(dice, spec)
    if dice.chance(3):
        pod["status"]["phase"] = dice.pick(FINISHED)
        return pod
    if dice.chance(theme.terminating):
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:10:00Z"
        if dice.chance(50):
            reason = {"status": "True", "reason": "PreemptionByScheduler"}
            pod["status"]["conditions"] = [{"type": "DisruptionTarget", **reason}]
    return pod


def incoming(dice: Dice, theme: Theme, number: int, profile: str) -> Object:
    """A pod that waits for a node, of ``profile``."""
    pod = _pod(dice, theme, f"new-{number}")
    spec = pod["spec"]
    spec["schedulerName"] = profile
    if dice.chance(theme.unequal):
        spec["priority"] = dice.pick(URGENCIES)
    if dice.chance(theme.unequal // 8):
        spec["preemptionPolicy"] = "Never"
    if dice.chance(theme.nominated):
        pod["status"] = {"nominatedNodeName": f"node-{dice.number(0, 9)}"}
    if dice.chance(theme.named):
        spec["nodeSelector"] = {HOSTNAME: f"node-{dice.number(0, 9)}"}
    if dice.chance(theme.demanding_features):
        _require_feature(dice, spec)
    return pod


def _pod(dice: Dice, theme: Theme, name: str) -> Object:
    spec = containers(dice, theme)
    labels = pod_labels(dice)
    affinity: Object = {}
    if dice.chance(theme.selective):
        _choose_nodes(dice, spec, affinity)
    if dice.chance(theme.social):
        affinity |= _pod_affinity(dice, labels)
    if affinity:
        spec["affinity"] = affinity
    if dice.chance(theme.tolerant):
        spec["tolerations"] = [_toleration(dice, theme) for _ in range(dice.number(1, 3))]
    if dice.chance(theme.ports):
        _open_ports(dice, spec)
    if dice.chance(theme.images // 5):
        spec["volumes"] = [{"name": "v", **dice.pick(VOLUMES)}]
    if dice.chance(theme.spread):
        spec["topologySpreadConstraints"] = _constraints(dice, theme)
    metadata: Object = {"name": name, "namespace": dice.pick(("alpha", *NAMESPACES)), "labels": labels}
    if dice.chance(theme.owned // 2):
        kind, version = dice.pick(
            (("ReplicaSet", "apps/v1"), ("StatefulSet", "apps/v1"), ("ReplicationController", "v1"))
        )
        owner = {"kind": kind, "apiVersion": version, "name": "owner", "uid": "0", "controller": True}
        metadata["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _choose_nodes(dice: Dice, spec: Object, affinity: Object) -> None:
    if dice.chance(40):
        spec["nodeSelector"] = dice.pick(
            ({"disk": "ssd"}, {"pool": "batch"}, {ZONE: "a"}, {"pool": "web", "disk": "ssd"})
        )
    if dice.chance(75) or "nodeSelector" not in spec:
        affinity["nodeAffinity"] = node_affinity(dice)


def _toleration(dice: Dice, theme: Theme) -> Object:
    if dice.chance(5):
        return {"operator": "Exists"}
    if dice.chance(theme.comparing):
        compared: Object = {"key": "level", "operator": dice.pick(("Gt", "Lt")), "value": dice.pick(("4", "9", "-1"))}
        return compared | ({"effect": "NoSchedule"} if dice.chance(50) else {})
    taint = dice.pick((*TAINTS, *LEVELS) if theme.comparing else TAINTS)
    toleration: Object = {"key": taint["key"]}
    if "value" not in taint or dice.chance(30):
        toleration["operator"] = "Exists"
    else:
        toleration["value"] = taint["value"]
    if dice.chance(70):
        toleration["effect"] = taint["effect"]
    return toleration


def _open_ports(dice: Dice, spec: Object) -> None:
    for number, host_port in enumerate(dice.some((8080, 8081, 53), 1, 2)):
        port: Object = {"containerPort": 80 + number, "hostPort": host_port}
        if dice.chance(40):
            port["hostIP"] = dice.pick(ADDRESSES)
        if dice.chance(25):
            port["protocol"] = dice.pick(("UDP", "SCTP"))
        where = dice.pick([*spec["containers"], *spec.get("initContainers", [])])
        where.setdefault("ports", []).append(port)
    if dice.chance(10):
        spec["hostNetwork"] = True
        _make_ports_its_own(spec)


def _make_ports_its_own(spec: Object) -> None:
    """With the node's network a container's port is the node's."""
    for container in (*spec["containers"], *spec.get("initContainers", [])):
        for port in container.get("ports", ()):
            port["containerPort"] = port["hostPort"]


def _constraints(dice: Dice, theme: Theme) -> list[Object]:
    constraints = {}
    for _ in range(dice.number(1, 3)):
        constraint = _strict(dice) if dice.chance(theme.strict) else _constraint(dice)
        constraints[constraint["topologyKey"], constraint["whenUnsatisfiable"]] = constraint
    return list(constraints.values())


def _strict(dice: Dice) -> Object:
    """At most one pod in each zone: there are fewer zones than the domains it wants."""
    rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return {**rule, "minDomains": len(ZONES) + 1, "labelSelector": pod_selector(dice)}


def _constraint(dice: Dice) -> Object:
    constraint: Object = {
        "maxSkew": dice.pick((1, 1, 2, 3)),
        "topologyKey": dice.pick((ZONE, ZONE, HOSTNAME, RACK)),
        "whenUnsatisfiable": dice.pick(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": pod_selector(dice),
    }
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and dice.chance(30):
        constraint["minDomains"] = dice.number(1, len(ZONES) + 1)
    if dice.chance(20):
        constraint["nodeAffinityPolicy"] = dice.pick(("Ignore", "Honor"))
    if dice.chance(25):
        constraint["nodeTaintsPolicy"] = dice.pick(("Honor", "Ignore"))
    if not _mentions_version(constraint["labelSelector"]) and dice.chance(20):
        constraint["matchLabelKeys"] = ["version"]
    return constraint


def _pod_affinity(dice: Dice, labels: Object) -> Object:
    affinity: Object = {}
    for name in dice.some(("podAffinity", "podAntiAffinity"), 1, 2):
        rules: Object = {}
        if dice.chance(60):
            rules[REQUIRED] = [_term(dice, labels) for _ in range(dice.pick((1, 1, 2)))]
        if dice.chance(55) or not rules:
            rules[PREFERRED] = [
                {"weight": dice.pick((1, 10, 100)), "podAffinityTerm": _term(dice, labels)}
                for _ in range(dice.number(1, 2))
            ]
        affinity[name] = rules
    return affinity


def _term(dice: Dice, labels: Object) -> Object:
    term: Object = {"topologyKey": dice.pick((ZONE, HOSTNAME, RACK)), "labelSelector": pod_selector(dice)}
    if labels and dice.chance(25):
        term["labelSelector"] = {"matchLabels": dict(labels)}  # the first of its kind, which finds only itself
    if dice.chance(2):
        del term["labelSelector"]
    elif not _mentions_version(term["labelSelector"]) and dice.chance(10):
        term[dice.pick(("matchLabelKeys", "mismatchLabelKeys"))] = ["version"]
    return term | namespaces(dice)


def _mentions_version(selector: Object) -> bool:
    """Whether the API server would refuse the key ``version`` beside ``selector``."""
    keys = {expression["key"] for expression in selector.get("matchExpressions", ())}
    return "version" in keys or "version" in selector.get("matchLabels", {})


def _require_feature(dice: Dice, spec: Object) -> None:
    if dice.chance(50):
        codes = {"operator": "In", "values": [42]}
        rule = {"action": "RestartAllContainers", "exitCodes": codes}
        spec["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    else:
        spec |= {"hostNetwork": True, "hostUsers": False}
        _make_ports_its_own(spec)
