"""Long lists of a pod cost at most three times what they cost kube-scheduler: the worst of ``make bench-cost``."""

from __future__ import annotations

import asyncio

import pytest

from bench.cost.beside import CostCase, Costs, compare, faults, grows_faster

pytestmark = pytest.mark.timeout(240)
WORST = [
    CostCase(shape, way, entries)
    for shape, way in (
        ("soft-spread", "waiting"),
        ("pod-affinity", "waiting"),
        ("pod-affinity-keys", "waiting"),
        ("anti-affinity", "in vain"),
    )
    for entries in (500, 2000)
]
NODES = 200
"""Preemption looks at each of them."""


@pytest.mark.cluster
def test_long_lists_cost_no_more_than_three_times_what_they_cost_kube_scheduler() -> None:
    assert faults(asyncio.run(compare(WORST, "1.36", nodes=NODES, repetitions=1))) == []


def test_quadratic_growth_is_a_fault() -> None:
    small = Costs(CostCase("soft-spread", "waiting", 1000), 10, 900)
    large = Costs(CostCase("soft-spread", "waiting", 4000), 40, 15_000)
    assert grows_faster(small, large)
    assert len(faults([small, large])) == 3


def test_what_is_within_the_noise_is_no_fault() -> None:
    small = Costs(CostCase("taints", "waiting", 1000), 1, 10)
    large = Costs(CostCase("taints", "waiting", 4000), 2, 50)
    assert faults([small, large]) == []
