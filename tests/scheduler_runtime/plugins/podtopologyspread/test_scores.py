"""Scores of clusters that can be worked out by hand, as upstream gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.plugins.podtopologyspread.scoring import SoftConstraints, log, normalize
from tests.scheduler_runtime.plugins.podtopologyspread.clusters import ZONE, constraint, labelled, scored, spreading
from tests.scheduler_runtime.plugins.podtopologyspread.naive import HOSTNAME

A, B, BOTH = {"app": "a"}, {"tier": "b"}, {"app": "a", "tier": "b"}
OF_B: dict[str, Any] = {"labelSelector": {"matchLabels": B}}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "s", "namespace": "default"},
    "spec": {"selector": A},
}


def soft(key: str = HOSTNAME, skew: int = 1, **more: Any) -> dict[str, Any]:
    return constraint(key, "ScheduleAnyway", skew, **more)


def cluster(zones: str, pods: list[list[dict[str, str]]]) -> testing.Cluster:
    """A node for each letter of ``zones``, none for a dash, with pods of the given labels on it."""
    filled = testing.Cluster()
    for number, (zone, labels) in enumerate(zip(zones, pods, strict=True)):
        name = f"node-{number}"
        filled.table.set_node(testing.node(name, labels={ZONE: zone} if zone != "-" else {}))
        for index, pod_labels in enumerate(labels):
            filled.place(labelled(testing.pod(f"pod-{number}-{index}"), pod_labels), name)
    return filled


def some(*numbers: int) -> list[list[dict[str, str]]]:
    return [[A] * number for number in numbers]


@pytest.mark.parametrize(
    ("constraints", "zones", "pods", "feasible", "expected"),
    [
        pytest.param([soft()], "ab", some(0, 0), "11", [100, 100], id="no-pods"),
        pytest.param([soft()], "ab", some(2, 1), "10", [100], id="one-candidate"),
        pytest.param([soft()], "ab", some(1, 1), "11", [100, 100], id="as-many-everywhere"),
        pytest.param([soft()], "abcd", some(2, 1, 0, 3), "1111", [20, 60, 100, 0], id="four-nodes"),
        pytest.param([soft(labelSelector=None)], "abcd", some(2, 1, 0, 3), "1111", [100] * 4, id="no-selector"),
        pytest.param([soft(skew=2)], "abcd", some(2, 1, 0, 3), "1111", [33, 66, 100, 16], id="skew-of-2"),
        pytest.param([soft(skew=3)], "abcd", some(4, 3, 2, 1), "1111", [44, 66, 77, 100], id="skew-of-3"),
        pytest.param([], "----", some(4, 3, 2, 1), "1111", [44, 66, 77, 100], id="by-system-without-zones"),
        pytest.param([soft()], "abcd", some(4, 2, 1, 3), "1110", [33, 83, 100], id="three-candidates"),
        pytest.param([soft(ZONE)], "aabb", some(4, 2, 1, 3), "1110", [75, 75, 100], id="zones"),
        pytest.param([soft(ZONE)], "a-b", some(4, 2, 1), "111", [16, 0, 100], id="a-node-without-zone-gets-nothing"),
        pytest.param([soft(ZONE), soft()], "aabb", some(2, 1, 2, 4), "1010", [100, 63], id="zone-and-node"),
        pytest.param(
            [soft(ZONE), soft(ZONE, **OF_B)],
            "aabb",
            [[BOTH, A], [BOTH], [], [A, BOTH, A]],
            "1010",
            [85, 100],
            id="two-on-zones",
        ),
        pytest.param(
            [soft(ZONE), soft(**OF_B)],
            "aabb",
            [[A], [BOTH], [], [A, B]],
            "1111",
            [60, 20, 100, 60],
            id="zone-and-node-for-different-pods",
        ),
        pytest.param(
            [soft(ZONE), soft(**OF_B)],
            "aabb",
            [[], [B], [A], [BOTH]],
            "1111",
            [100, 60, 40, 0],
            id="some-nodes-without-pods",
        ),
        pytest.param(
            [soft(ZONE), soft(**OF_B)],
            "aabb",
            [[A], [BOTH], [], [A, B]],
            "1110",
            [50, 25, 100],
            id="for-different-pods-three-candidates",
        ),
    ],
)
def test_scores(
    constraints: list[Any], zones: str, pods: list[list[dict[str, str]]], feasible: str, expected: list[int]
) -> None:
    pod = labelled(testing.pod("incoming", topologySpreadConstraints=constraints), BOTH)
    actual = scored(spreading({}, SERVICE), pod, cluster(zones, pods), [letter == "1" for letter in feasible])
    assert actual == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [([0, 0], [100, 100]), ([1, 4, 2], [100, 25, 75]), ([0, 900_000, 225_000], [100, 0, 75])],
    ids=["empty", "close", "too-far-apart-for-a-table-of-all-scores"],
)
def test_scores_are_normalised_between_the_least_and_the_most_crowded(raw: list[int], expected: list[int]) -> None:
    scores, state = np.array(raw, np.int64), SoftConstraints((), (), None)
    assert normalize(scores, state, np.ones(len(raw), np.bool_)).tolist() == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (3, "0x1.193ea7aad030ap+0"),
        (14, "0x1.51cca16d7bba8p+1"),
        (48, "0x1.ef8383c50bb74p+1"),
        (176, "0x1.4ae935b3cb89ep+2"),
        (5002, "0x1.10901f6dc84b9p+3"),
    ],
)
def test_logarithms_are_those_of_go_to_the_last_bit(number: int, expected: str) -> None:
    assert log(number).hex() == expected
