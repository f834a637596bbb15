"""Upstream's formulas of room and scores, written down for a single node in Go's 64-bit numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

from scheduler_runtime.testing import Cluster

Loads = list[tuple[int, int, int, int]]
"""Weight, offered, taken, and taken with the pod, of each resource that counts."""
Formula = Callable[[Loads], int]

RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu")
LINE = [(0, 0), (30, 100), (73, 20), (100, 90)]
_UNITS = {"Mi": 2**20, "Gi": 2**30}


def amount_of(resource: str, text: str) -> int:
    if resource == "cpu":
        return int(text[:-1]) if text.endswith("m") else int(text) * 1000
    return int(text[:-2]) * _UNITS[text[-2:]] if text[-2:] in _UNITS else int(text)


def int64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def divided(one: int, other: int) -> int:
    return abs(one) // other * (1 if one >= 0 else -1)


def least(loads: Loads) -> int:
    shares = [divided(int64((whole - used) * 100), whole) if used <= whole else 0 for _, whole, _, used in loads]
    return mean(loads, shares)


def most(loads: Loads) -> int:
    return mean(loads, [divided(int64(min(used, whole) * 100), whole) for _, whole, _, used in loads])


def mean(loads: Loads, shares: list[int]) -> int:
    weights = [weight for weight, *_ in loads]
    return divided(sum(weight * share for weight, share in zip(weights, shares, strict=True)), sum(weights) or 1)


def ratio(loads: Loads) -> int:
    def line(percent: int) -> int:
        for (low, start), (high, end) in pairwise(LINE):
            if percent <= high:
                return start + int((end - start) * (percent - low) / (high - low)) if percent > low else start
        return LINE[-1][1]

    shares = [
        (weight, line(100 if used > whole else divided(int64(used * 100), whole))) for weight, whole, _, used in loads
    ]
    counted = [(weight, share) for weight, share in shares if share > 0]
    weights = sum(weight for weight, _ in counted)
    return math.floor(sum(weight * share for weight, share in counted) / weights + 0.5) if weights else 0


def evenness(parts: list[tuple[int, int]]) -> int:
    degrees = [min(float(part) / float(whole), 1.0) for part, whole in parts]
    deviation = 0.0
    if len(degrees) == 2:
        deviation = abs((degrees[0] - degrees[1]) / 2)
    elif len(degrees) > 2:
        total = squares = 0.0
        for degree in degrees:
            total += degree
        for degree in degrees:
            squares += (degree - total / len(degrees)) * (degree - total / len(degrees))
        deviation = math.sqrt(squares / len(degrees))
    return int((1 - deviation) * 100)


def as_before_1_36(loads: Loads) -> int:
    return evenness([(used, whole) for _, whole, _, used in loads])


def improvement(loads: Loads) -> int:
    with_pod = evenness([(used, whole) for _, whole, _, used in loads])
    without = evenness([(used, whole) for _, whole, used, _ in loads])
    return 50 + divided(50 + with_pod - without, 2)


def offers(cluster: Cluster, row: int) -> dict[str, int]:
    allocatable = cluster.table.node(row).status.allocatable or {}
    return {name: amount_of(name, str(text)) for name, text in allocatable.items()}


def usage(cluster: Cluster, row: int, scored: bool = False) -> dict[str, int]:
    """What the pods on a node asked for, or what they count for in scores."""
    result = dict.fromkeys(RESOURCES, 0)
    for pod in cluster.table.pods(row):
        amounts = dict(pod.requests.amounts)
        if scored:
            amounts.update(cpu=pod.requests.scored_cpu, memory=pod.requests.scored_memory)
        for resource, amount in amounts.items():
            result[resource] += amount
    return result


def naive(
    cluster: Cluster, requests: Mapping[str, int], weights: Mapping[str, int], formula: Formula, scored: bool
) -> dict[str, int]:
    result = {}
    for row, name in enumerate(cluster.table.names):
        offered, used = offers(cluster, row), usage(cluster, row, scored)
        loads: Loads = []
        for resource, weight in weights.items():
            amount = requests.get(resource, 0)
            if (amount or "/" not in resource) and offered.get(resource):
                with_pod = int64(used[resource] + amount)
                loads.append((weight, offered[resource], used[resource], with_pod))
        result[name] = formula(loads)
    return result
