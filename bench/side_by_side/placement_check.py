"""Whether pods are where they may be: judged from the objects alone, knowing no scheduler."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Object = dict[str, Any]
SHOWN = 5
UNITS = {"m": 1e-3, "k": 1e3, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "": 1}


def faults(nodes: Sequence[Object], pods: Sequence[Object]) -> list[str]:
    """What is wrong with where pods are, a sentence each, and no more than a few of one kind."""
    by_name = {node["metadata"]["name"]: node for node in nodes}
    placed = [pod for pod in pods if pod["spec"].get("nodeName")]
    if lost := [_name(pod) for pod in placed if pod["spec"]["nodeName"] not in by_name]:
        return [f"{len(lost)} pods are on nodes that do not exist, such as {lost[0]}"]
    kinds = (_overcommitted, _elsewhere, _skewed, _near_what_they_avoid, _far_from_what_they_need)
    return [fault for kind in kinds for fault in _first(kind(by_name, placed))]


def amount(quantity: str | int) -> float:
    """A quantity as a number."""
    digits = str(quantity).rstrip("mkKMGTi")
    unit = str(quantity)[len(digits) :]
    return float(digits) * UNITS[unit]


def _first(found: Iterator[str]) -> list[str]:
    listed = list(found)
    more = [f"and {len(listed) - SHOWN} more like it"] if len(listed) > SHOWN else []
    return listed[:SHOWN] + more


def _overcommitted(nodes: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
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


def _elsewhere(_: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
    """Pods that name their node and are on another."""
    for pod in pods:
        required = _affinity(pod, "nodeAffinity") or {}
        for term in required.get("nodeSelectorTerms", []):
            for field in term.get("matchFields", []):
                if pod["spec"]["nodeName"] not in field["values"]:
                    yield f"pod {_name(pod)} asks for {field['values']} and is on {pod['spec']['nodeName']}"


def _skewed(nodes: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
    asked = {
        json.dumps([pod["metadata"]["namespace"], each], sort_keys=True)
        for pod in pods
        for each in pod["spec"].get("topologySpreadConstraints", [])
        if each["whenUnsatisfiable"] == "DoNotSchedule"
    }
    for namespace, constraint in map(json.loads, sorted(asked)):
        key = constraint["topologyKey"]
        counts = Counter(dict.fromkeys(_domains(nodes.values(), key), 0))
        counts.update(_domain(nodes, pod, key) for pod in pods if _selects(constraint, [namespace], pod))
        skew = max(counts.values()) - min(counts.values())
        if skew > constraint["maxSkew"]:
            yield f"the skew over {key} is {skew} and may be {constraint['maxSkew']}: {dict(counts)}"


def _near_what_they_avoid(nodes: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
    for pod, term, others in _related(nodes, pods, "podAntiAffinity"):
        if others:
            yield f"pod {_name(pod)} shares its {term['topologyKey']} with {others} pods that it avoids"


def _far_from_what_they_need(nodes: Mapping[str, Object], pods: Sequence[Object]) -> Iterator[str]:
    """A pod that is what it asks for may be the first of its kind anywhere, and alone once."""
    alone: Counter[str] = Counter()
    for pod, term, others in _related(nodes, pods, "podAffinity"):
        if others:
            continue
        alone[json.dumps(term, sort_keys=True)] += 1
        if alone[json.dumps(term, sort_keys=True)] > 1 or not _selects(term, _namespaces(term, pod), pod):
            yield f"pod {_name(pod)} is in a {term['topologyKey']} without the pods it needs"


def _related(nodes: Mapping[str, Object], pods: Sequence[Object], kind: str) -> Iterator[tuple[Object, Object, int]]:
    """Each pod with each required term of ``kind``, and how many *other* pods in its domain the term selects."""
    counted: dict[str, Counter[str]] = {}
    for pod in pods:
        for term in _affinity(pod, kind) or []:
            namespaces = _namespaces(term, pod)
            group = json.dumps([term, namespaces], sort_keys=True)
            if group not in counted:
                chosen = [each for each in pods if _selects(term, namespaces, each)]
                counted[group] = Counter(_domain(nodes, each, term["topologyKey"]) for each in chosen)
            own = _selects(term, namespaces, pod)
            yield pod, term, counted[group][_domain(nodes, pod, term["topologyKey"])] - own


def _affinity(pod: Object, kind: str) -> Any:
    asked = pod["spec"].get("affinity", {}).get(kind, {})
    return asked.get("requiredDuringSchedulingIgnoredDuringExecution")


def _namespaces(term: Object, pod: Object) -> list[str]:
    return term.get("namespaces") or [pod["metadata"]["namespace"]]


def _selects(term: Object, namespaces: Sequence[str], pod: Object) -> bool:
    selector = term["labelSelector"]
    if set(selector) - {"matchLabels"}:
        raise ValueError(f"placements by {selector} cannot be judged: only matchLabels are known here")
    labels = pod["metadata"].get("labels", {})
    wanted = selector["matchLabels"].items()
    return pod["metadata"]["namespace"] in namespaces and all(labels.get(key) == value for key, value in wanted)


def _domain(nodes: Mapping[str, Object], pod: Object, key: str) -> str:
    return str(nodes[pod["spec"]["nodeName"]]["metadata"]["labels"].get(key, ""))


def _domains(nodes: Iterable[Object], key: str) -> set[str]:
    return {node["metadata"]["labels"][key] for node in nodes if key in node["metadata"]["labels"]}


def _name(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
