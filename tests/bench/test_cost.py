"""Long lists of a pod cost at most three times what they cost kube-scheduler: the worst of ``make bench-cost``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from bench.cost.beside import CostCase, Numbers, cases, measure, with_ordinary
from bench.cost.judgement import costs, faults

pytestmark = pytest.mark.timeout(480)
WORST = ["soft-spread", "pod-affinity", "anti-affinity"]
NODES = 200
"""Preemption looks at each of them."""


@pytest.mark.cluster
@pytest.mark.alone
def test_long_lists_cost_no_more_than_three_times_what_they_cost_kube_scheduler() -> None:
    some = list(cases(WORST, (500, 2000)))
    theirs, ours = asyncio.run(measure(some, "1.36", nodes=NODES, repetitions=2))
    assert faults(costs(theirs, ours)[0]) == []


SMALL, LARGE, ORDINARY = (
    CostCase("soft-spread", "waiting", 1000),
    CostCase("soft-spread", "waiting", 4000),
    CostCase("Pod", "waiting", 0),
)
Milliseconds = tuple[float, float]
"""Of the small list and the large one."""


def judged(theirs: Milliseconds, ours: Milliseconds, noise: float = 1.0) -> list[str]:
    """The faults of these costs; an ordinary pod takes 5 ms, more or less the noise."""

    def samples(milliseconds: Milliseconds) -> Mapping[CostCase, list[float]]:
        return {
            SMALL: [milliseconds[0], milliseconds[0]],
            LARGE: [milliseconds[1], milliseconds[1]],
            ORDINARY: [5 - noise, 5, 5 + noise],
        }

    return faults(costs(samples(theirs), samples(ours))[0])


@pytest.mark.parametrize(
    ("theirs", "ours", "number"),
    [
        pytest.param((15, 45), (15, 45), 0, id="the-same"),
        pytest.param((15, 45), (40, 130), 0, id="almost-three-times"),
        pytest.param((15, 45), (15, 160), 2, id="more-than-three-times-the-large-one"),
        pytest.param((15, 45), (90, 1200), 3, id="quadratic"),
        pytest.param((15, 45), (7, 70), 1, id="cheap-but-faster"),
        pytest.param((15, 21), (15, 45), 1, id="linear-where-theirs-is-less"),
        pytest.param((15, 165), (15, 165), 0, id="quadratic-as-theirs"),
        pytest.param((5, 6), (12, 33), 1, id="theirs-too-small-to-be-measured"),
        pytest.param((5, 5), (8, 16), 0, id="linear-where-theirs-is-too-small-to-be-measured"),
        pytest.param((5, 5), (7, 40), 2, id="quadratic-where-theirs-is-too-small-to-be-measured"),
        pytest.param((1, 1), (5, 5.9), 0, id="below-a-millisecond"),
    ],
)
def test_judges(theirs: Milliseconds, ours: Milliseconds, number: int) -> None:
    sentences = judged(theirs, ours)
    assert len(sentences) == number, sentences


def test_a_fault_is_one_only_if_it_is_above_the_noise() -> None:
    assert judged((15, 45), (7, 25), noise=0.1)
    assert not judged((15, 45), (7, 25), noise=4)


def test_no_two_objects_have_an_entry_in_common() -> None:
    numbers = Numbers()
    taken = [*numbers.take(1000), *numbers.take(4000), *numbers.take(1000)]
    assert len(set(taken)) == len(taken)
    assert numbers.take(50_000)[0] == numbers.take(50_000)[0], "they begin again where ports end"


def test_an_ordinary_object_is_measured_in_each_way_before_and_after_and_between() -> None:
    some = list(cases(["soft-spread", "taints"], (1000,)))
    order = with_ordinary(some)
    assert [case for case in order if case.entries] == some
    ordinary = {CostCase("Pod", way, 0) for way in ("waiting", "in vain", "assigned")}
    ordinary |= {CostCase("Node", way, 0) for way in ("added", "updated")}
    assert {case for case in order if not case.entries} == ordinary == set(order[:5]) == set(order[-5:])
