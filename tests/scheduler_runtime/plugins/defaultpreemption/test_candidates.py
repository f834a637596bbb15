"""The best candidate: upstream's TestSelectBestCandidate, row by row."""

from __future__ import annotations

import pytest

from scheduler_runtime import testing
from tests.support.preempting import (
    HIGH,
    LARGE,
    LOW,
    MEDIUM,
    MID,
    NEGATIVE,
    SMALL,
    VERY_HIGH,
    VERY_LARGE,
    Scene,
    budget,
    pod,
)

SIZES = {"s": SMALL, "m": MEDIUM, "l": LARGE}
PRIORITIES = {"-": NEGATIVE, "0": LOW, "1": MID, "2": HIGH}
T1, T2, T3, T4, T5, T6 = (f"1970-01-01T00:00:0{second}Z" for second in range(1, 7))
Row = list[tuple[str, str]]
"""Pods of a node: priority and size in two characters, and when the pod started."""


def nominated(nodes: list[Row], preemptor_priority: int = HIGH) -> str:
    pods = [
        pod(f"p{row}.{index}", PRIORITIES[what[0]], SIZES[what[1]], node=f"node{row}", started=started)
        for row, on_node in enumerate(nodes, 1)
        for index, (what, started) in enumerate(on_node)
    ]
    names = [f"node{row}" for row in range(1, len(nodes) + 1)]
    return Scene(names, pods).nominated(pod("p", preemptor_priority, VERY_LARGE))


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param(["1m 1l", "1m 0m", "0m 0m"], "node3", id="node-with-min-highest-priority-pod-is-picked"),
        pytest.param(["1m 1l", "1l 0m", "1m 1m"], "node2", id="when-highest-are-the-same-minimum-sum-is-picked"),
        pytest.param(["1s -s 1s -s", "1l -m", "1m -s 0s"], "node2", id="then-minimum-number-of-pods-is-picked"),
        pytest.param(["1s -s -s", "1l -m", "1m -s 0s"], "node2", id="sum-of-adjusted-priorities-is-considered"),
    ],
)
def test_the_least_important_victims(nodes: list[str], expected: str) -> None:
    assert nominated([[(priority, T1) for priority in row.split()] for row in nodes]) == expected


def test_not_overlapping_lowest_high_priority_sum_and_number() -> None:
    rows = ["1s 0s 0s", "2l", "1m 0s 0s 0m", "1m 1s 1s -s"]
    assert nominated([[(priority, T1) for priority in row.split()] for row in rows], VERY_HIGH) == "node1"


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param([("1m", T2, "1m", T2), ("1m", T3, "1m", T3), ("1m", T1, "1m", T1)], "node2", id="for-each-node"),
        pytest.param([("1m", T4, "1m", T2), ("1m", T5, "1m", T1), ("1m", T3, "1m", T6)], "node3", id="for-all-pods"),
        pytest.param([("0m", T4, "1m", T2), ("1m", T6, "0m", T1), ("0m", T3, "1m", T5)], "node2", id="priorities-too"),
        pytest.param([("1m", T4, "1m", ""), ("1m", "", "1m", "")], "node2", id="not-started-is-latest"),
    ],
)
def test_the_latest_start(nodes: list[tuple[str, ...]], expected: str) -> None:
    assert nominated([[(row[0], row[1]), (row[2], row[3])] for row in nodes]) == expected


def test_any_of_equals_is_picked() -> None:
    assert nominated([[("1l", T1)], [("1l", T1)]]) in ("node1", "node2")


def test_no_violation_comes_before_everything_else() -> None:
    pods = [pod("low", LOW, LARGE, node="a", labels={"app": "foo"}), pod("mid", MID, LARGE, node="b")]
    scene = Scene(["a", "b"], pods, budgets=[budget("b", 0, app="foo")])
    assert scene.nominated(pod("p", HIGH, LARGE)) == "b"


def test_budgets_are_read_again_when_they_change() -> None:
    pods = [pod("low", LOW, LARGE, node="a", labels={"app": "foo"}), pod("mid", MID, LARGE, node="b")]
    objects = testing.Objects()
    scene = Scene(["a", "b"], pods, objects=objects)
    assert scene.nominated(pod("p", HIGH, LARGE)) == "a"
    objects.put(budget("b", 0, app="foo"))
    scene.nominations.forget("p")
    assert scene.nominated(pod("p", HIGH, LARGE)) == "b"
