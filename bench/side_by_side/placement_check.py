"""A check that pods are where they may be, from the objects alone.

The judge shares no code with what it judges: the rules stand here once more, in the plainest form.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Object = dict[str, Any]
MOST_OF_A_KIND = 5
UNITS = {"m": 1e-3, "k": 1e3, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "": 1}


def faults(nodes: Sequence[Object], pods: Sequence[Object]) -> list[str]:
    """The wrong placements, a sentence each, and no more than a few of one kind."""
    by_name = {node["metadata"]["name"]: node for node in nodes}
    placed = [pod for pod in pods if pod["spec"].get("nodeName")]
    if lost := [_name(pod) for pod in placed if pod["spec"]["nodeName"] not in by_name]:
        return [f"{len(lost)} pods are on nodes that do not exist, such as {lost[0]}"]
    checks = (overcommitted, elsewhere, skewed, near_avoided_pods, far_from_required_pods)
    result: list[str] = []
    for check in checks:
        of_a_kind = list(check(by_name, placed))
        result += of_a_kind[:MOST_OF_A_KIND]
        if len(of_a_kind) > MOST_OF_A_KIND:
            result.append(f"and {len(of_a_kind) - MOST_OF_A_KIND} more like it")
    return result


def amount(quantity: str | int) -> float:
    """A quantity as a number."""
    digits = str(quantity).rstrip("mkKMGTi")
    unit = str(quantity)[len(digits) :]
    return float(digits) * UNITS[unit]


def overcommitted(nodes: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
    used: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for pod in pods:
        of_node = used[pod["spec"]["nodeName"]]
        of_node["pods"] += 1
        for container in pod["spec"]["containers"]:
            for resource, quantity in container.get("resources", {}).get("requests", {}).items():
                of_node[resource] += amount(quantity)
    for name, resources in used.items():
        for resource, total in resources.items():
            room = amount(nodes[name]["status"]["allocatable"].get(resource, 0))
            if total > room * (1 + 1e-9):
                yield f"node {name} has {room:g} {resource} and pods that ask for {total:g}"


def elsewhere(_: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
    """Pods that name their node and are on another."""
    for pod in pods:
        required = _affinity(pod, "nodeAffinity") or {}
        for term in required.get("nodeSelectorTerms", []):
            for field in term.get("matchFields", []):
                if pod["spec"]["nodeName"] not in field["values"]:
                    yield f"pod {_name(pod)} asks for {field['values']} and is on {pod['spec']['nodeName']}"


def skewed(nodes: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
    constraints = {
        json.dumps([pod["metadata"]["namespace"], constraint], sort_keys=True)
        for pod in pods
        for constraint in pod["spec"].get("topologySpreadConstraints", [])
        if constraint["whenUnsatisfiable"] == "DoNotSchedule"
    }
    for namespace, constraint in map(json.loads, sorted(constraints)):
        key = constraint["topologyKey"]
        labels = [node["metadata"]["labels"] for node in nodes.values()]
        counts = Counter({of_node[key]: 0 for of_node in labels if key in of_node})  # empty domains count too
        counts.update(_domain(nodes, pod, key) for pod in pods if _selects(constraint, [namespace], pod))
        skew = max(counts.values()) - min(counts.values())
        if skew > constraint["maxSkew"]:
            yield f"the skew over {key} is {skew} and may be {constraint['maxSkew']}: {dict(counts)}"


def near_avoided_pods(nodes: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
    for pod, term, others in _related(nodes, pods, "podAntiAffinity"):
        if others:
            yield f"pod {_name(pod)} shares its {term['topologyKey']} with {others} pods that it avoids"


def far_from_required_pods(nodes: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
    """Pods without the pods that their affinity requires.

    A pod that matches its own term may be the first of its kind anywhere, and alone once.
    """
    alone: Counter[str] = Counter()
    for pod, term, others in _related(nodes, pods, "podAffinity"):
        if others:
            continue
        alone[json.dumps(term, sort_keys=True)] += 1
        if alone[json.dumps(term, sort_keys=True)] > 1 or not _selects(term, _namespaces(term, pod), pod):
            yield f"pod {_name(pod)} is in a {term['topologyKey']} without the pods it needs"


def _related(nodes: Mapping[str, Object], pods: Sequence[Object], kind: str) -> Iterator[tuple[Object, Object, int]]:
    """Each pod with each required term of ``kind``, and the number of *other* matching pods in its domain."""
    counts: dict[str, Counter[str]] = {}
    for pod in pods:
        for term in _affinity(pod, kind) or []:
            namespaces = _namespaces(term, pod)
            group = json.dumps([term, namespaces], sort_keys=True)
            if group not in counts:
                selected = [other for other in pods if _selects(term, namespaces, other)]
                counts[group] = Counter(_domain(nodes, other, term["topologyKey"]) for other in selected)
            own = _selects(term, namespaces, pod)
            yield pod, term, counts[group][_domain(nodes, pod, term["topologyKey"])] - own


def _affinity(pod: Object, kind: str) -> Any:
    rules = pod["spec"].get("affinity", {}).get(kind, {})
    return rules.get("requiredDuringSchedulingIgnoredDuringExecution")


def _namespaces(term: Object, pod: Object) -> list[str]:
    return term.get("namespaces") or [pod["metadata"]["namespace"]]


def _selects(term: Object, namespaces: Sequence[str], pod: Object) -> bool:
    selector = term["labelSelector"]
    if set(selector) - {"matchLabels"}:
        raise ValueError(f"placements by {selector} cannot be judged: only matchLabels are known here")
    labels = pod["metadata"].get("labels", {})
    required = selector["matchLabels"].items()
    return pod["metadata"]["namespace"] in namespaces and all(labels.get(key) == value for key, value in required)


def _domain(nodes: Mapping[str, Object], pod: Object, key: str) -> str:
    return str(nodes[pod["spec"]["nodeName"]]["metadata"]["labels"].get(key, ""))


def _name(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
