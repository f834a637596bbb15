"""Events that bring a rejected pod back to the queue."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Action, Event
from scheduler_runtime.state.objects import Node, Pod, Taint
from tests.support.unreadable import pod_asking

DECIDES = testing.framework()
PENDING = testing.pod("pending", {"cpu": "2", "memory": "1Gi"})
TAINTED = [Taint(key="a", effect="NoSchedule")]


def placed(cpu: str, **spec: Any) -> Pod:
    return testing.pod("placed", {"cpu": cpu}, nodeName="a", **spec)


def helps(plugin: str, old: Node | Pod | None, new: Node | Pod | None, pod: Pod = PENDING) -> bool:
    resource = "Pod" if isinstance(new or old, Pod) else "Node"
    return DECIDES.queue.hint(plugin, Event(resource, Action.UPDATE, old, new), pod)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, testing.node("a", cpu="2"), True, id="a-node-with-room"),
        pytest.param(None, testing.node("a", cpu="1"), False, id="a-node-without-room"),
        pytest.param(None, testing.node("a", pods="0"), False, id="a-node-that-takes-no-pods"),
        pytest.param(testing.node("a", cpu="2"), testing.node("a", cpu="3"), True, id="a-node-grew"),
        pytest.param(testing.node("a", cpu="3"), testing.node("a", cpu="2"), False, id="a-node-shrank"),
        pytest.param(testing.node("a"), testing.node("a", ephemeral_storage="9"), False, id="it-grew-in-another-way"),
        pytest.param(testing.node("a", pods="1"), testing.node("a", pods="2"), True, id="it-takes-more-pods"),
        pytest.param(placed("1"), None, True, id="a-placed-pod-went"),
        pytest.param(testing.pod("other"), None, False, id="a-pod-that-was-nowhere-went"),
        pytest.param(placed("2"), placed("1"), True, id="a-placed-pod-shrank-in-what-is-wanted"),
        pytest.param(placed("1"), placed("2"), False, id="a-placed-pod-grew"),
        pytest.param(testing.pod("o", {"cpu": "2"}), testing.pod("o"), False, id="a-pod-that-is-nowhere-shrank"),
        pytest.param(testing.pod("pending", {"cpu": "3"}), PENDING, True, id="the-pod-itself-shrank"),
    ],
)
def test_fit(old: Node | Pod | None, new: Node | Pod | None, expected: bool) -> None:
    assert helps("NodeResourcesFit", old, new) is expected


ODD = pod_asking("placed", "lots", nodeName="a")
LOTS = pod_asking("pending", "lots")


@pytest.mark.parametrize(
    ("old", "new", "pod", "expected"),
    [
        pytest.param(None, testing.node("a"), LOTS, False, id="no-node-helps-a-pod-that-cannot-be-read"),
        pytest.param(placed("1"), None, LOTS, False, id="nor-does-a-pod-that-goes"),
        pytest.param(placed("2"), placed("1"), LOTS, False, id="nor-one-that-shrinks"),
        pytest.param(LOTS, PENDING, LOTS, True, id="its-own-change-does"),
        pytest.param(ODD, None, PENDING, True, id="one-that-cannot-be-read-goes"),
        pytest.param(
            ODD, pod_asking("placed", "lots", nodeName="a", priority=1), PENDING, False, id="it-changes-in-another-way"
        ),
        pytest.param(ODD, placed("1"), PENDING, False, id="it-counted-for-nothing-before"),
        pytest.param(placed("1"), ODD, PENDING, True, id="it-counts-for-nothing-now"),
    ],
)
def test_what_cannot_be_read_wakes_nobody_by_failing(
    old: Node | Pod | None, new: Node | Pod | None, pod: Pod, expected: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert helps("NodeResourcesFit", old, new, pod) is expected
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("plugin", "old", "new", "expected"),
    [
        ("NodeUnschedulable", None, testing.node("a"), True),
        ("NodeUnschedulable", None, testing.node("a", unschedulable=True), False),
        ("NodeUnschedulable", testing.node("a", unschedulable=True), testing.node("a"), True),
        ("NodeUnschedulable", testing.node("a"), testing.node("a"), False),
        ("TaintToleration", None, testing.node("a"), True),
        ("TaintToleration", None, testing.node("a", taints=TAINTED), False),
        ("TaintToleration", testing.node("a", taints=TAINTED), testing.node("a"), True),
        ("TaintToleration", testing.node("a"), testing.node("a", cpu="9"), False),
        ("NodeName", None, testing.node("a"), True),
    ],
)
def test_nodes(plugin: str, old: Node | None, new: Node, expected: bool) -> None:
    assert helps(plugin, old, new) is expected


def test_node_affinity_asks_for_a_node_that_begins_to_match() -> None:
    pod = testing.pod("p", nodeSelector={"zone": "a"})
    outside, inside = testing.node("n"), testing.node("n", labels={"zone": "a"})
    assert helps("NodeAffinity", None, inside, pod)
    assert helps("NodeAffinity", outside, inside, pod)
    assert not helps("NodeAffinity", None, outside, pod)
    assert not helps("NodeAffinity", inside, inside, pod)


def test_added_affinity_asks_for_a_node_that_begins_to_be_allowed() -> None:
    pools = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["batch"]}]}]}
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": pools}}
    decides = testing.framework({"pluginConfig": [{"name": "NodeAffinity", "args": args}]})
    outside, inside = testing.node("n"), testing.node("n", labels={"pool": "batch"})
    for old, new, expected in ((None, inside, True), (outside, inside, True), (None, outside, False)):
        event = Event("Node", Action.ADD if old is None else Action.UPDATE_NODE_LABEL, old, new)
        assert decides.queue.hint("NodeAffinity", event, PENDING) is expected


ALL = {"operator": "Exists"}


@pytest.mark.parametrize("plugin", ["NodeUnschedulable", "TaintToleration"])
def test_a_toleration_of_its_own_helps_and_that_of_another_does_not(plugin: str) -> None:
    assert helps(plugin, PENDING, testing.pod("pending", tolerations=[ALL]))
    assert not helps(plugin, testing.pod("other"), testing.pod("other", tolerations=[ALL]))


def test_a_toleration_of_something_else_does_not_help_against_a_cordon() -> None:
    assert not helps("NodeUnschedulable", PENDING, testing.pod("pending", tolerations=[{"key": "x", **ALL}]))


def test_only_its_own_gates_hold_a_pod() -> None:
    gated = testing.pod("pending", schedulingGates=[{"name": "a"}])
    assert helps("SchedulingGates", gated, testing.pod("pending"), gated)
    assert not helps("SchedulingGates", testing.pod("other"), testing.pod("other"), gated)
