"""Room and scores over many nodes at once, against upstream's formulas written down for a single node."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin
from scheduler_runtime.catalog import IN_TREE_ARGS
from scheduler_runtime.plugins import IN_TREE

SEEDS = range(12)
RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu")
AMOUNTS = {
    "cpu": ["0", "1m", "100m", "333m", "1", "1500m", "3"],
    "memory": ["0", "1", "1Mi", "700Mi", "3Gi", "123456789"],
    "ephemeral-storage": ["0", "5", "7"],
    "example.com/gpu": ["0", "1", "2"],
}
GIB = 1024**3
OFFERS = {
    "cpu": {"0": 0, "2": 2000, "3500m": 3500, "64": 64000},
    "memory": {"0": 0, "1Gi": GIB, "4Gi": 4 * GIB, "999Gi": 999 * GIB},
    "pods": {"0": 0, "2": 2, "110": 110},
    "ephemeral-storage": {"0": 0, "10": 10},
    "example.com/gpu": {"0": 0, "2": 2},
}


class Handle:
    """A handle that offers nothing but the version."""

    def __init__(self, version: str) -> None:
        self.version = version


def plugin(name: str, args: dict[str, Any], version: str = "v1.36.4") -> Plugin:
    handle: Any = Handle(version)
    return IN_TREE[name](IN_TREE_ARGS[name].model_validate(args, strict=False), handle)


def requests(random: Random) -> dict[str, str]:
    return {name: random.choice(texts) for name, texts in AMOUNTS.items() if random.random() < 0.7}


def cluster_of(random: Random) -> testing.Cluster:
    """Sixty nodes of all sizes, many of them too full."""
    cluster = testing.Cluster()
    for number in range(60):
        offer = {name: random.choice(list(texts)) for name, texts in OFFERS.items()}
        named: dict[str, Any] = {name.replace("-", "_"): text for name, text in offer.items()}
        cluster.table.set_node(testing.node(f"node-{number}", **named))
        for index in range(random.randrange(4)):
            cluster.place(testing.pod(f"pod-{number}-{index}", requests(random)), f"node-{number}")
    return cluster


def offers(cluster: testing.Cluster, row: int) -> dict[str, int]:
    allocatable = cluster.table.node(row).status.allocatable or {}
    return {name: OFFERS[name][str(text)] for name, text in allocatable.items()}


def taken(cluster: testing.Cluster, row: int, scored: bool = False) -> dict[str, int]:
    """What the pods on a node asked for, or what they count for in scores."""
    found = dict.fromkeys(RESOURCES, 0)
    for pod in cluster.table.pods(row):
        amounts = dict(pod.requests.amounts)
        if scored:
            amounts.update(cpu=pod.requests.scored_cpu, memory=pod.requests.scored_memory)
        for resource, amount in amounts.items():
            found[resource] += amount
    return found


def all_nodes(cluster: testing.Cluster) -> NodeTable:
    return NodeTable(cluster.table, np.ones(len(cluster.table), np.bool_))


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_does_not_fit(seed: int, ignored: bool) -> None:
    random = Random(seed)  # noqa: S311 - cases, not secrets
    cluster, pod = cluster_of(random), testing.pod("incoming", requests(random))
    # cpu cannot be ignored: it is no extended resource.
    fit = plugin("NodeResourcesFit", {"ignoredResources": ["example.com/gpu", "cpu"]} if ignored else {})
    found: list[set[tuple[str, bool]]] = [set() for _ in cluster.table.names]
    for reject in fit.filter(pod, all_nodes(cluster), None):
        for place in np.flatnonzero(reject.rows).tolist():
            found[place].add((reject.reason, bool(np.broadcast_to(reject.resolvable, len(found))[place])))
    for row in range(len(cluster.table)):
        offered, used = offers(cluster, row), taken(cluster, row)
        wanted = set()
        if len(cluster.table.pods(row)) + 1 > offered["pods"]:
            wanted.add(("Too many pods", True))
        for resource, amount in pod.requests.amounts.items():
            passed_over = ignored and resource == "example.com/gpu"
            if amount > offered[resource] - used[resource] and amount > 0 and not passed_over:
                wanted.add((f"Insufficient {resource}", amount <= offered[resource]))
        assert found[row] == wanted


Loads = list[tuple[int, int, int, int]]
"""Weight, offered, taken, and taken with the pod, of each resource that counts."""
Formula = Callable[[Loads], int]


def least(loads: Loads) -> int:
    total = sum(
        weight * ((offered - asked) * 100 // offered if asked <= offered else 0) for weight, offered, _, asked in loads
    )
    return total // sum(weight for weight, *_ in loads) if loads else 0


def most(loads: Loads) -> int:
    total = sum(weight * (min(asked, offered) * 100 // offered) for weight, offered, _, asked in loads)
    return total // sum(weight for weight, *_ in loads) if loads else 0


def ratio(loads: Loads) -> int:
    def line(percent: int) -> int:
        points: list[tuple[int, int]] = [(0, 0), (30, 100), (73, 20), (100, 90)]
        for (low, start), (high, end) in pairwise(points):
            if percent <= high:
                return start + int((end - start) * (percent - low) / (high - low))
        return 90

    shares = [(weight, line(100 if asked > offered else asked * 100 // offered)) for weight, offered, _, asked in loads]
    counted = [(weight, share) for weight, share in shares if share > 0]
    weights = sum(weight for weight, _ in counted)
    return math.floor(sum(weight * share for weight, share in counted) / weights + 0.5) if weights else 0


def evenness(parts: list[tuple[int, int]]) -> int:
    degrees = [min(part / whole, 1.0) for part, whole in parts]
    deviation = 0.0
    if len(degrees) == 2:
        deviation = abs((degrees[0] - degrees[1]) / 2)
    elif len(degrees) > 2:
        mean = sum(degrees) / len(degrees)
        deviation = math.sqrt(sum((degree - mean) * (degree - mean) for degree in degrees) / len(degrees))
    return int((1 - deviation) * 100)


def as_before_1_36(loads: Loads) -> int:
    return evenness([(asked, offered) for _, offered, _, asked in loads])


def improvement(loads: Loads) -> int:
    with_pod = evenness([(asked, offered) for _, offered, _, asked in loads])
    without = evenness([(taken, offered) for _, offered, taken, _ in loads])
    return 50 + (50 + with_pod - without) // 2


def naive(
    cluster: testing.Cluster, asked: dict[str, int], weights: dict[str, int], formula: Formula, scored: bool
) -> list[int]:
    found = []
    for row in range(len(cluster.table)):
        offered, used = offers(cluster, row), taken(cluster, row, scored)
        loads: Loads = []
        for resource, weight in weights.items():
            amount = asked.get(resource, 0)
            if (amount or "/" not in resource) and offered[resource]:
                loads.append((weight, offered[resource], used[resource], used[resource] + amount))
        found.append(formula(loads))
    return found


def some_weights(random: Random, most: int) -> dict[str, int]:
    return {name: random.randint(1, most) for name in random.sample(RESOURCES, random.randint(1, 4))}


SHAPE = {"shape": [{"utilization": u, "score": s} for u, s in ((0, 0), (30, 10), (73, 2), (100, 9))]}


@pytest.mark.parametrize(
    ("strategy", "formula"), [("LeastAllocated", least), ("MostAllocated", most), ("RequestedToCapacityRatio", ratio)]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_fit_scores(seed: int, strategy: str, formula: Formula) -> None:
    random = Random(seed)  # noqa: S311 - cases, not secrets
    cluster, pod, weights = cluster_of(random), testing.pod("incoming", requests(random)), some_weights(random, 5)
    scoring: dict[str, Any] = {"type": strategy, "resources": [{"name": n, "weight": w} for n, w in weights.items()]}
    if strategy == "RequestedToCapacityRatio":
        scoring["requestedToCapacityRatio"] = SHAPE
    found = plugin("NodeResourcesFit", {"scoringStrategy": scoring}).score(pod, all_nodes(cluster), None)
    assert found.tolist() == naive(cluster, pod.requests.pending, weights, formula, scored=True)


@pytest.mark.parametrize(("version", "formula"), [("v1.35.6", as_before_1_36), ("v1.36.4", improvement)])
@pytest.mark.parametrize("seed", SEEDS)
def test_balance(seed: int, version: str, formula: Formula) -> None:
    random = Random(seed)  # noqa: S311 - cases, not secrets
    cluster, pod, weights = cluster_of(random), testing.pod("incoming", requests(random)), some_weights(random, 1)
    balance = plugin("NodeResourcesBalancedAllocation", {"resources": [{"name": name} for name in weights]}, version)
    found = balance.score(pod, all_nodes(cluster), None)
    assert found.tolist() == naive(cluster, pod.requests.amounts, weights, formula, scored=False)
