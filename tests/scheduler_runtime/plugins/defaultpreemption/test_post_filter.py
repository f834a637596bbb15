"""Preemption for a pod that fits nowhere, and its messages: upstream's TestPostFilter, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import CLEAR, NodeTable, Plugin, Pod, Reject
from scheduler_runtime.state import objects
from tests.support.preempting import HIGH, LARGE, LOW, MID, SMALL, VERY_HIGH, Scene, budget, pod


def for_one(name: str, **more: Any) -> objects.Node:
    """A node that takes one pod."""
    return testing.node(name, pods="1", **more)


TWO_SMALL = [testing.node(name, cpu="200m") for name in ("node1", "node2")]
ON_TWO_SMALL = [
    *(pod(f"p{number}", HIGH, {"cpu": "150m"}, node=f"node{number}") for number in (1, 2)),
    *(pod(f"q{number}", LOW, {"cpu": "50m"}, node=f"node{number}") for number in (1, 2)),
]
GUARDED, FREE = {"guarded": "yes"}, {"guarded": "no"}
BUDGETS = [budget("guarded", 0, guarded="yes"), budget("free", 2**31 - 1, guarded="no")]


@pytest.mark.parametrize(
    ("preemptor", "nodes", "pods", "budgets", "expected"),
    [
        pytest.param(
            pod("p", HIGH),
            [for_one("node1")],
            [pod("p1", node="node1")],
            [],
            "node1",
            id="pod-with-higher-priority-can-be-made-schedulable",
        ),
        pytest.param(
            pod("p", MID),
            [for_one("node1"), for_one("node2")],
            [pod("p1", HIGH, node="node1"), pod("p2", LOW, node="node2")],
            [],
            "node2",
            id="pod-can-be-made-schedulable-on-one-node",
        ),
        pytest.param(
            pod("p", VERY_HIGH),
            [for_one("node1"), for_one("node2")],
            [
                pod("p1", HIGH, node="node1", labels=FREE),
                pod("p2", LOW, node="node1", labels=GUARDED),
                pod("p3", MID, node="node2", labels=GUARDED),
            ],
            BUDGETS,
            "node2",
            id="pod-can-be-made-schedulable-on-min-highest-priority-node",
        ),
    ],
)
def test_a_node_is_nominated(
    preemptor: Pod, nodes: list[objects.Node], pods: list[Pod], budgets: list[Any], expected: str
) -> None:
    assert Scene(nodes, pods, budgets=budgets).nominated(preemptor) == expected


TAINT = [objects.Taint(key="k", effect="NoSchedule")]


@pytest.mark.parametrize(
    ("preemptor", "nodes", "pods", "expected"),
    [
        pytest.param(
            pod("p"),
            [for_one("node1")],
            [pod("p1", node="node1")],
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="pod-with-tied-priority-is-still-unschedulable",
        ),
        pytest.param(
            pod("p", HIGH),
            [for_one("node1", taints=TAINT)],
            [pod("p1", node="node1")],
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="preemption-should-respect-filtered-nodes-statuses",
        ),
        pytest.param(
            pod("p", HIGH, {"cpu": "100m"}),
            TWO_SMALL,
            ON_TWO_SMALL,
            "0/2 nodes are available: 2 Insufficient cpu.",
            id="no-candidate-nodes-found-not-enough-resource-after-removing-low-priority-pods",
        ),
        pytest.param(
            pod("p", HIGH, {"cpu": "100m"}),
            [for_one("node1"), testing.node("node2", cpu="200m"), for_one("node3")],
            [
                pod("p1", HIGH, node="node1"),
                pod("p2", HIGH, {"cpu": "150m"}, node="node2"),
                pod("q2", LOW, {"cpu": "50m"}, node="node2"),
                pod("p3", HIGH, node="node3"),
            ],
            "0/3 nodes are available: 1 Insufficient cpu, 2 No preemption victims found for incoming pod.",
            id="no-candidate-nodes-found-with-mixed-reasons",
        ),
        pytest.param(
            pod("p", HIGH, {"cpu": "100m"}),
            [*TWO_SMALL, testing.node("node3", taints=TAINT), testing.node("node4", cpu="50m")],
            ON_TWO_SMALL,
            "0/4 nodes are available: 2 Insufficient cpu, 2 Preemption is not helpful for scheduling.",
            id="no-candidate-nodes-found-with-two-that-cannot-be-helped",
        ),
    ],
)
def test_no_node_comes_into_question_and_why_is_said(
    preemptor: Pod, nodes: list[objects.Node], pods: list[Pod], expected: str
) -> None:
    scene = Scene(nodes, pods)
    assert scene.post_filter_message(preemptor) == expected
    nomination = scene.refused(preemptor).nomination
    assert nomination
    assert nomination.node is CLEAR


def test_the_whole_message_is_upstreams() -> None:
    scene = Scene([for_one("a"), testing.node("b", taints=TAINT)], [pod("p1", node="a")])
    assert scene.refused(pod("p")).message == (
        "0/2 nodes are available: 1 Too many pods, 1 node(s) had untolerated taint(s). no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v1.36.4", "0/1 nodes are available: 1 Too many pods."),
        (
            "v1.37.1",
            "0/1 nodes are available: 1 Too many pods. "
            "preemption: found a potential placement for pod on node a, preempting 1 victims",
        ),
    ],
)
def test_success_is_told_since_1_37(version: str, expected: str) -> None:
    assert Scene([for_one("a")], [pod("p1", node="a")], version=version).refused(pod("p", HIGH)).message == expected


class Touchy(Plugin):
    """Fails when pods leave nodes that are labelled."""

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Any) -> None:
        return None

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        return iter(())

    def add_pod(self, pod: Pod, nodes: NodeTable, state: Any, other: Pod, row: int) -> None:
        return None

    def remove_pod(self, pod: Pod, nodes: NodeTable, state: Any, other: Pod, row: int) -> None:
        if nodes.node(row).labels.get("error"):
            raise RuntimeError("failed to remove pod")


def test_only_one_node_but_failed_with_a_plugin(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene([for_one("node1", labels={"error": "yes"})], [pod("p1", node="node1")], Touchy)
    assert (
        scene.post_filter_message(pod("p", HIGH))
        == "plugin Touchy failed in remove_pod: RuntimeError: failed to remove pod"
    )
    assert scene.refused(pod("p", HIGH)).nomination is None
    assert "trying a node failed" in caplog.text


def test_one_failed_with_a_plugin_and_the_other_passes() -> None:
    nodes = [for_one("node1", labels={"error": "yes"}), for_one("node2")]
    scene = Scene(nodes, [pod("p1", node="node1"), pod("p2", node="node2")], Touchy)
    assert scene.nominated(pod("p", HIGH)) == "node2"


def only(*nodes: str) -> Any:
    def extend(_: Pod, candidates: Iterable[Any]) -> list[Any]:
        return [candidate for candidate in candidates if candidate.node in nodes]

    return extend


def test_preemption_result_filtered_out_by_extenders() -> None:
    scene = Scene([for_one("node1"), for_one("node2")], [pod("p1", node="node1"), pod("p2", node="node2")])
    scene.plugin.extend = only("node1")
    assert scene.nominated(pod("p", HIGH)) == "node1"
    scene.plugin.extend = only()
    assert scene.post_filter_message(pod("p", HIGH)) == "no candidate node for preemption"
    assert scene.refused(pod("p", HIGH)).nomination is None


def test_attempts_and_victims_are_counted() -> None:
    scene = Scene(["a"], [pod("p1", LOW, LARGE, node="a"), pod("p2", LOW, SMALL, node="a")])
    assert scene.nominated(pod("p", HIGH, {"cpu": "500m"})) == "a"
    scene.refused(pod("q", LOW, {"cpu": "500m"}))
    assert (scene.api.attempts, scene.api.victim_counts) == (2, [2])
