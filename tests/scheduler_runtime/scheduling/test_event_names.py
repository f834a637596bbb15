"""Upstream's names of cluster events."""

from __future__ import annotations

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Action, Event
from scheduler_runtime.scheduling.metrics import event_name

WAITING, BOUND = testing.pod("a"), testing.pod("a", nodeName="n")
NODE = testing.node("n")


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (Event("Node", Action.ADD, None, NODE), "NodeAdd"),
        (Event("Node", Action.UPDATE_NODE_LABEL, NODE, NODE), "NodeUpdateNodeLabel"),
        (Event("Node", Action.UPDATE_NODE_TAINT | Action.UPDATE_NODE_LABEL, NODE, NODE), "NodeUpdateNodeLabel"),
        (Event("Pod", Action.DELETE, BOUND, None), "AssignedPodDelete"),
        (Event("Pod", Action.UPDATE_POD_SCALE_DOWN, BOUND, BOUND), "AssignedPodUpdatePodScaleDown"),
        (
            Event("Pod", Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, WAITING, WAITING),
            "UnschedulablePodUpdatePodSchedulingGatesEliminated",
        ),
        (Event("Pod", Action.UPDATE, WAITING, WAITING), "UnschedulablePodUpdate"),
        (Event("Service", Action.ADD, None, None), "ServiceAdd"),
    ],
)
def test_an_event_has_upstreams_name(event: Event, name: str) -> None:
    assert event_name(event) == name
