"""Tolerations of a newer Kubernetes: operators behind a feature gate, and operators that do not exist."""

from __future__ import annotations

import pytest

from scheduler_runtime import testing
from scheduler_runtime.framework import Placed, Unschedulable
from scheduler_runtime.state import objects

GATE = "TaintTolerationComparisonOperators"
LEVEL = objects.Taint(key="level", value="900", effect="NoSchedule")


def outcome(operator: str, version: str = "v1.36.4", **gates: bool) -> Placed | Unschedulable:
    """What becomes of a pod that tolerates ``level`` in this way, where the only node has it at 900."""
    decides = testing.framework(version=version, feature_gates=gates)
    pod = testing.pod("p", tolerations=[{"key": "level", "operator": operator, "value": "800"}])
    return decides.schedule(pod, testing.Cluster(testing.node("a", taints=[LEVEL])))


@pytest.mark.parametrize("version", ["v1.35.4", "v1.36.4", "v1.37.1"])
def test_comparing_takes_its_gate(version: str) -> None:
    assert isinstance(outcome("Gt", version), Unschedulable)
    assert isinstance(outcome("Gt", version, **{GATE: True}), Placed)
    assert isinstance(outcome("Gt", version, AllAlpha=True, GenericWorkload=True, EventedPLEG=False), Placed)
    assert isinstance(outcome("Lt", version, **{GATE: True}), Unschedulable)


def test_an_operator_that_does_not_exist_is_named_where_the_pod_is_kept_away() -> None:
    refused = outcome("Within")
    assert isinstance(refused, Unschedulable)
    assert refused.message.startswith(
        "0/1 nodes are available: 1 node(s) had untolerated taint(s) (spec.tolerations[0].operator: 'Within' is not "
        "one of Equal, Exists, Gt and Lt, so it tolerates nothing)."
    )


def test_an_operator_that_does_not_exist_keeps_no_pod_from_a_node_without_taints() -> None:
    pod = testing.pod("p", tolerations=[{"key": "level", "operator": "Within"}])
    assert isinstance(testing.framework().schedule(pod, testing.Cluster(testing.node("a"))), Placed)
