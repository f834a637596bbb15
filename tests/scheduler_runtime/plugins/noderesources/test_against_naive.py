"""Room and scores over many nodes at once and over one, against upstream's formulas for a single node."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime import testing
from scheduler_runtime.api import Plugin
from tests.scheduler_runtime.plugins.noderesources.naive import (
    LINE,
    RESOURCES,
    Formula,
    as_before_1_36,
    improvement,
    least,
    most,
    naive,
    offers,
    ratio,
    usage,
)
from tests.support.lone_plugin import Reasons, lone_plugin, rejections, scores

SEEDS = range(6)
AMOUNTS = {
    "cpu": ["0", "1m", "100m", "333m", "1", "1500m", "3"],
    "memory": ["0", "1", "1Mi", "700Mi", "3Gi", "123456789"],
    "ephemeral-storage": ["0", "5", "7"],
    "example.com/gpu": ["0", "1", "2"],
}
OFFERS = {
    "cpu": ["0", "2", "3500m", "64"],
    "memory": ["0", "1Gi", "4Gi", "999Gi", "987654321"],
    "pods": ["0", "2", "110"],
    "ephemeral-storage": ["0", "10"],
    "example.com/gpu": ["0", "2"],
}
SHAPE = {"shape": [{"utilization": percent, "score": score // 10} for percent, score in LINE]}
STRATEGIES: list[tuple[str, Formula]] = [
    ("LeastAllocated", least),
    ("MostAllocated", most),
    ("RequestedToCapacityRatio", ratio),
]
VERSIONS: list[tuple[str, Formula]] = [("v1.35.6", as_before_1_36), ("v1.36.4", improvement)]


def requests(random: Random) -> dict[str, str]:
    return {name: random.choice(texts) for name, texts in AMOUNTS.items() if random.random() < 0.7}


def offer(random: Random, name: str, everywhere: bool) -> Any:
    """A node of any size; without ``everywhere`` perhaps without some resource."""
    texts = {resource: random.choice(texts[everywhere:]) for resource, texts in OFFERS.items()}
    named: dict[str, Any] = {resource.replace("-", "_"): text for resource, text in texts.items()}
    return testing.node(name, **named)


def cluster_of(random: Random, everywhere: bool = False) -> testing.Cluster:
    """Sixty nodes of all sizes, many of them too full."""
    cluster = testing.Cluster()
    for number in range(60):
        cluster.table.set_node(offer(random, f"node-{number}", everywhere))
        for index in range(random.randrange(4)):
            cluster.place(testing.pod(f"pod-{number}-{index}", requests(random)), f"node-{number}")
    return cluster


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_does_not_fit(seed: int, ignored: bool) -> None:
    random = Random(seed)  # noqa: S311 - cases, not secrets
    cluster, pod = cluster_of(random), testing.pod("incoming", requests(random))
    # cpu cannot be ignored: it is no extended resource.
    fit = lone_plugin("NodeResourcesFit", {"ignoredResources": ["example.com/gpu", "cpu"]} if ignored else {})
    actual = rejections(fit, pod, cluster)
    for row, name in enumerate(cluster.table.names):
        offered, used = offers(cluster, row), usage(cluster, row)
        expected: Reasons = set()
        if len(cluster.table.pods(row)) + 1 > offered["pods"]:
            expected.add(("Too many pods", True))
        for resource, amount in pod.requests.amounts.items():
            passed_over = ignored and resource == "example.com/gpu"
            if amount > offered[resource] - used[resource] and amount > 0 and not passed_over:
                expected.add((f"Insufficient {resource}", amount <= offered[resource]))
        assert actual[name] == expected


def some_weights(random: Random, most: int) -> dict[str, int]:
    return {name: random.randint(1, most) for name in random.sample(RESOURCES, random.randint(1, 4))}


def fit_with(strategy: str, weights: dict[str, int]) -> Plugin:
    scoring: dict[str, Any] = {"type": strategy, "resources": [{"name": n, "weight": w} for n, w in weights.items()]}
    if strategy == "RequestedToCapacityRatio":
        scoring["requestedToCapacityRatio"] = SHAPE
    return lone_plugin("NodeResourcesFit", {"scoringStrategy": scoring})


def balance_of(weights: dict[str, int], version: str) -> Plugin:
    args = {"resources": [{"name": name} for name in weights]}
    return lone_plugin("NodeResourcesBalancedAllocation", args, version)


def balanced(cluster: testing.Cluster, pod: Any, weights: dict[str, int], formula: Formula) -> dict[str, int]:
    """A pod that asks for none of the resources is not scored."""
    if not any(pod.requests.amounts.get(resource) for resource in weights):
        return dict.fromkeys(cluster.table.names, 0)
    return naive(cluster, pod.requests.amounts, weights, formula, scored=False)


@pytest.mark.parametrize(("strategy", "formula"), STRATEGIES)
@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_fit_scores(seed: int, everywhere: bool, strategy: str, formula: Formula) -> None:
    random = Random(seed)  # noqa: S311 - cases, not secrets
    cluster, pod = cluster_of(random, everywhere), testing.pod("incoming", requests(random))
    weights = some_weights(random, 5)
    actual = scores(fit_with(strategy, weights), pod, cluster)
    assert actual == naive(cluster, pod.requests.pending, weights, formula, scored=True)


@pytest.mark.parametrize(("version", "formula"), VERSIONS)
@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_balance(seed: int, everywhere: bool, version: str, formula: Formula) -> None:
    random = Random(seed)  # noqa: S311 - cases, not secrets
    cluster, pod = cluster_of(random, everywhere), testing.pod("incoming", requests(random))
    weights = some_weights(random, 1)
    assert scores(balance_of(weights, version), pod, cluster) == balanced(cluster, pod, weights, formula)


def change(random: Random, cluster: testing.Cluster, step: int) -> None:
    """A pod comes or goes, or a node comes, goes or becomes another."""
    name = random.choice(cluster.table.names)
    row = cluster.table.row(name)
    assert row is not None
    match random.randrange(8):
        case 0:
            cluster.table.set_node(offer(random, name, everywhere=step % 3 > 0))
        case 1:
            cluster.table.set_node(offer(random, f"new-{step}", everywhere=True))
        case 2:
            cluster.table.remove_node(name)
        case 3 | 4:
            for pod in list(cluster.table.pods(row))[:1]:
                cluster.table.remove_pod(pod, name)
        case _:
            cluster.place(testing.pod(f"later-{step}", requests(random)), name)


@pytest.mark.parametrize("seed", range(2))
def test_what_is_kept_follows_every_change(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - cases, not secrets
    cluster, weights = cluster_of(random, everywhere=True), {"memory": 2, "cpu": 3}
    fits = [(fit_with(strategy, weights), formula) for strategy, formula in STRATEGIES]
    balances = [(balance_of(weights, version), formula) for version, formula in VERSIONS]
    for step in range(40):
        for _ in range(random.choice([0, 1, 1, 3, 12])):
            change(random, cluster, step)
            step += 1000
        pod = testing.pod("incoming", requests(random))
        for plugin, formula in fits:
            assert scores(plugin, pod, cluster) == naive(cluster, pod.requests.pending, weights, formula, scored=True)
        for plugin, formula in balances:
            assert scores(plugin, pod, cluster) == balanced(cluster, pod, weights, formula)


EDGES = [2**31, 2**43, 2**46, 2**52, 2**53, 2**63 // 100, 2**62, 2**63 - 1]
HUGE = st.one_of(
    st.integers(0, 3),
    st.sampled_from([min(edge + more, 2**63 - 1) for edge in EDGES for more in (-1, 0, 1)]),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**43 + 2),
    st.integers(0, 400).map(lambda hundredths: 2**43 * hundredths // 100),
)


def huge(nodes: list[tuple[int, int]], amount: int) -> tuple[testing.Cluster, Any]:
    """Nodes with so much memory of which so much is used, and a pod that asks for so much."""
    cluster = testing.Cluster()
    for number, (whole, used) in enumerate(nodes):
        cluster.table.set_node(testing.node(f"node-{number}", memory=str(whole), ephemeral_storage=str(whole // 2 + 1)))
        requests = {"memory": str(used), "ephemeral-storage": str(used // 3)}
        cluster.place(testing.pod(f"pod-{number}", requests), f"node-{number}")
    return cluster, testing.pod("incoming", {"memory": str(amount), "ephemeral-storage": str(amount // 7)})


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(HUGE, HUGE), min_size=1, max_size=6), HUGE)
def test_numbers_up_to_what_64_bits_hold(nodes: list[tuple[int, int]], amount: int) -> None:
    cluster, pod = huge([(whole, min(used, 2**63 - 1 - amount)) for whole, used in nodes], amount)
    for strategy, formula in STRATEGIES:
        actual = scores(fit_with(strategy, {"memory": 1}), pod, cluster)
        theirs = naive(cluster, pod.requests.pending, {"memory": 1}, formula, scored=True)
        # Upstream refuses a score out of range, and with it the attempt; ours is the nearest (docs/compared.md).
        assert actual == {name: min(max(score, 0), 100) for name, score in theirs.items()}
    for version, formula in VERSIONS:
        weights = {"memory": 1, "ephemeral-storage": 1}
        assert scores(balance_of(weights, version), pod, cluster) == balanced(cluster, pod, weights, formula)


def test_more_than_64_bits_hold_is_no_trouble() -> None:
    cluster, pod = huge([(2**62, 2**63 - 5), (5, 2**62)], 2**62)
    for strategy, _ in STRATEGIES:
        assert len(scores(fit_with(strategy, {"memory": 1}), pod, cluster)) == 2
    for version, _ in VERSIONS:
        assert set(scores(balance_of({"memory": 1, "ephemeral-storage": 1}, version), pod, cluster).values()) <= set(
            range(101)
        )


@pytest.mark.parametrize("bits", [12, 33, 43, 46, 50])
@pytest.mark.parametrize(("strategy", "formula"), STRATEGIES[:2])
def test_where_a_share_comes_out_even_it_is_not_one_less(bits: int, strategy: str, formula: Formula) -> None:
    """Fractions would be a little off there: each share is one hundredth exactly, or the least bit more or less."""
    random, amount = Random(bits), 2 ** (bits - 9)  # noqa: S311 - cases, not secrets
    wholes = [random.randrange(2 ** (bits - 1), 2**bits) // 100 * 100 for _ in range(300)]
    used = [whole // 100 * random.randrange(3, 101) + random.choice([-1, 0, 0, 1]) - amount for whole in wholes]
    cluster, pod = huge(list(zip(wholes, used, strict=True)), amount)
    plugin = fit_with(strategy, {"memory": 1})
    assert scores(plugin, pod, cluster) == naive(cluster, pod.requests.pending, {"memory": 1}, formula, scored=True)
    for number, whole in enumerate(wholes[:30]):
        cluster.table.set_node(testing.node(f"node-{number}", memory=str(whole + 100)))
    assert scores(plugin, pod, cluster) == naive(cluster, pod.requests.pending, {"memory": 1}, formula, scored=True)
