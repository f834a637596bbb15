"""Pods that may preempt others: upstream's TestPodEligibleToPreemptOthers, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Pod
from scheduler_runtime.state import objects
from tests.support.preempting import HIGH, LARGE, LOW, VERY_HIGH, Scene, pod

TAINT = [objects.Taint(key="k", effect="NoSchedule")]
ON_NODE_1 = {"nominatedNodeName": "node1"}
TERMINATING = "not eligible due to a terminating pod on the nominated node."


def condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, "reason": reason}]}


BY_SCHEDULER = condition("DisruptionTarget", "True", "PreemptionByScheduler")


def leaving(status: dict[str, Any] | None = None, priority: int = LOW) -> Pod:
    return pod("p1", priority, LARGE, node="node1", deleted=True, status=status)


@pytest.mark.parametrize(
    ("preemptor", "victim", "refusal"),
    [
        pytest.param(pod("p", HIGH, LARGE), leaving(BY_SCHEDULER), "", id="pod-without-nominated-node"),
        pytest.param(
            pod("p", HIGH, LARGE, preemptionPolicy="Never"),
            pod("p1", LOW, LARGE, node="node1"),
            "not eligible due to preemptionPolicy=Never.",
            id="pod-with-preempt-never-policy",
        ),
        pytest.param(
            pod("p", HIGH, LARGE, status=ON_NODE_1),
            leaving(BY_SCHEDULER),
            TERMINATING,
            id="preemption-victim-terminating",
        ),
        pytest.param(pod("p", HIGH, LARGE, status=ON_NODE_1), leaving(), "", id="non-victim-terminating"),
        pytest.param(
            pod("p", HIGH, LARGE, status=ON_NODE_1),
            leaving(condition("DisruptionTarget", "True", "EvictionByEvictionAPI")),
            "",
            id="evicted-by-somebody-else",
        ),
        pytest.param(
            pod("p", HIGH, LARGE, status=ON_NODE_1),
            leaving(condition("DisruptionTarget", "False", "PreemptionByScheduler")),
            "",
            id="condition-is-not-true",
        ),
        pytest.param(
            pod("p", HIGH, LARGE, status={"nominatedNodeName": "gone"}), leaving(BY_SCHEDULER), "", id="node-is-gone"
        ),
    ],
)
def test_eligible_or_not(preemptor: Pod, victim: Pod, refusal: str) -> None:
    scene = Scene(["node1"], [victim])
    assert scene.post_filter_message(preemptor) == refusal
    assert scene.api.attempts == 1


def test_a_more_important_pod_that_leaves_does_not_count() -> None:
    scene = Scene(["node1", "node2"], [leaving(BY_SCHEDULER, VERY_HIGH), pod("p2", LOW, LARGE, node="node2")])
    assert scene.nominated(pod("p", HIGH, LARGE, status=ON_NODE_1)) == "node2"


def test_a_nominated_node_that_cannot_be_helped_any_more_does_not_hold_the_pod_back() -> None:
    nodes = [testing.node("node1", taints=TAINT), testing.node("node2", cpu="500m")]
    scene = Scene(nodes, [leaving(BY_SCHEDULER), pod("p2", LOW, LARGE, node="node2")])
    assert scene.nominated(pod("p", HIGH, LARGE, status=ON_NODE_1)) == "node2"


def test_a_pod_that_may_not_preempt_keeps_its_nominated_node() -> None:
    scene = Scene(["node1"], [leaving(BY_SCHEDULER)])
    assert scene.refused(pod("p", HIGH, LARGE, status=ON_NODE_1)).nomination is None


def test_a_nomination_counts_before_the_pods_status_says_it() -> None:
    scene = Scene(["node1"], [pod("p1", LOW, LARGE, node="node1")])
    preemptor = pod("p", HIGH, LARGE)
    assert scene.nominated(preemptor) == "node1"
    scene.cluster.table.remove_pod(pod("p1"), "node1")
    scene.cluster.place(leaving(BY_SCHEDULER), "node1")
    assert scene.post_filter_message(preemptor) == TERMINATING
