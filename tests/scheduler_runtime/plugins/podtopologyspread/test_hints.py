"""Changes that bring back a pod that hard constraints rejected."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import QUEUE, SKIP, Action, Event, Node, Pod, Taint
from scheduler_runtime.state.objects import PodStatus
from tests.scheduler_runtime.plugins.podtopologyspread.clusters import ZONE, constraint, labelled, spreading

A, B = {"app": "a"}, {"app": "b"}
TAINTED = [Taint(key="t", effect="NoSchedule")]
ON_RACKS = constraint("rack", labelSelector={"matchLabels": {"tier": "b"}})


def waiting(*constraints: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    return labelled(
        testing.pod("waiting", topologySpreadConstraints=constraints or [constraint()], **spec), labels or A
    )


def other(labels: dict[str, str] | None, node: str = "there", namespace: str = "default", nominated: str = "") -> Pod:
    pod = labelled(testing.pod("other", nodeName=node), labels, namespace=namespace)
    return msgspec.structs.replace(pod, status=PodStatus(nominated_node_name=nominated))


def helps(old: Any, new: Any, pod: Pod, version: str = "v1.36.4") -> bool:
    resource = "Pod" if isinstance(new or old, Pod) else "Node"
    answer = spreading(version=version).hint(Event(resource, Action.UPDATE, old, new), pod)
    assert answer in (QUEUE, SKIP)
    return answer is QUEUE


@pytest.mark.parametrize("version", ["v1.35.4", "v1.36.4", "v1.37.1"])
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, other(A), True, id="a-pod-that-counts-came"),
        pytest.param(None, other(B), False, id="another-came"),
        pytest.param(None, other(A, node=""), False, id="one-without-a-node-came"),
        pytest.param(None, other(A, namespace="elsewhere"), False, id="one-of-another-namespace-came"),
        pytest.param(other(A), None, True, id="a-pod-that-counts-went"),
        pytest.param(other(B), None, False, id="another-went"),
        pytest.param(other(A, node=""), None, False, id="one-without-a-node-went"),
        pytest.param(other(B, node="", nominated="there"), None, False, id="another-that-was-nominated-went"),
        pytest.param(other(B, node=""), other(A, node=""), False, id="one-without-a-node-changed"),
        pytest.param(other({**A, "x": "1"}), other({**A, "x": "2"}), False, id="a-label-that-nobody-asks-for-changed"),
        pytest.param(other(None), other(A), True, id="it-counts-from-now-on"),
        pytest.param(other(A), other(None), True, id="it-counts-no-longer"),
        pytest.param(other(A), other({**A, "tier": "b"}), True, id="it-counts-for-the-other-constraint"),
    ],
)
def test_pods(old: Pod | None, new: Pod | None, expected: bool, version: str) -> None:
    assert helps(old, new, waiting(constraint(), ON_RACKS), version) == expected


@pytest.mark.parametrize(("version", "expected"), [("v1.35.4", False), ("v1.36.4", True), ("v1.37.1", True)])
def test_a_nominated_pod_that_went_helps_since_1_36(version: str, expected: bool) -> None:
    assert helps(other(A, node="", nominated="there"), None, waiting(), version) == expected


TOLERANT: dict[str, Any] = {"tolerations": [{"operator": "Exists"}]}


@pytest.mark.parametrize(
    ("constraints", "labels", "spec", "expected"),
    [
        pytest.param([constraint(nodeTaintsPolicy="Honor"), ON_RACKS], A, TOLERANT, True, id="it-tolerates-more"),
        pytest.param([constraint()], A, TOLERANT, False, id="taints-do-not-matter"),
        pytest.param([constraint()], {"app": "b"}, {}, True, id="it-does-not-select-itself-any-more"),
        pytest.param([constraint()], {**A, "x": "1"}, {}, False, id="an-unrelated-label"),
    ],
)
def test_the_pod_itself_changed(constraints: list[Any], labels: dict[str, str], spec: Any, expected: bool) -> None:
    changed = waiting(*constraints, labels=labels, **spec)
    assert helps(waiting(*constraints), changed, waiting(*constraints)) == expected


def node(taints: list[Taint] | None = None, **labels: str) -> Node:
    return testing.node(
        "n", labels={ZONE if key == "zone" else key: value for key, value in labels.items()}, taints=taints or []
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, node(zone="a", rack="1"), True, id="a-node-with-all-labels-came"),
        pytest.param(None, node(zone="a"), False, id="one-with-some-came"),
        pytest.param(node(zone="a", rack="1"), None, True, id="a-node-with-all-labels-went"),
        pytest.param(node(zone="a"), None, False, id="one-with-some-went"),
        pytest.param(node(zone="a"), node(zone="a", rack="1"), True, id="it-has-all-now"),
        pytest.param(node(zone="a", rack="1"), node(zone="a"), True, id="it-has-all-no-longer"),
        pytest.param(node(zone="a", rack="1"), node(zone="a", rack="2"), True, id="it-moved"),
        pytest.param(node(zone="a", rack="1"), node(zone="a", rack="1", x="1"), False, id="an-unrelated-label"),
        pytest.param(node(zone="a", rack="1"), node(TAINTED, zone="a", rack="1"), True, id="its-taints"),
        pytest.param(node(rack="1"), node(TAINTED, rack="1"), False, id="the-taints-of-a-node-that-does-not-count"),
    ],
)
def test_nodes(old: Node | None, new: Node | None, expected: bool) -> None:
    assert helps(old, new, waiting(constraint(), ON_RACKS)) == expected


def test_a_pod_whose_constraints_cannot_be_read_is_tried_at_every_event() -> None:
    unreadable = waiting(constraint(labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}))
    assert helps(None, other(B), unreadable)


def test_what_another_pod_tolerates_does_not_matter() -> None:
    tolerant = msgspec.structs.replace(other(A), spec=testing.pod("other", nodeName="there", **TOLERANT).spec)
    assert not helps(other(A), tolerant, waiting(constraint(nodeTaintsPolicy="Honor")))


def test_soft_constraints_keep_no_pod_waiting() -> None:
    assert not helps(None, other(A), waiting(constraint(when="ScheduleAnyway")))
