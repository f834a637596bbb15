"""Actions by which two versions of a node or a pod differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from scheduler_runtime.api import Action
from scheduler_runtime.scheduling.cluster_updates import node_actions, pod_actions
from scheduler_runtime.state.objects import Node, Pod, Taint
from scheduler_runtime.testing import node, pod
from tests.support.unreadable import node_offering, pod_asking


def ours(name: str = "a", **spec: Any) -> Pod:
    return pod(name, {"cpu": "1"}, schedulerName="ours", **spec)


TAINT = Taint(key="k", effect="NoSchedule")


@pytest.mark.parametrize(
    ("new", "action"),
    [
        (node("n"), Action(0)),
        (node("n", cpu="8"), Action.UPDATE_NODE_ALLOCATABLE),
        (node("n", labels={"zone": "a"}), Action.UPDATE_NODE_LABEL),
        (node("n", taints=[TAINT]), Action.UPDATE_NODE_TAINT),
        (node("n", unschedulable=True), Action(0)),
        (node("n", cpu="8", taints=[TAINT]), Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_TAINT),
    ],
)
def test_actions_of_a_node(new: Node, action: Action) -> None:
    assert node_actions(node("n"), new) == action


def of_node(status: Mapping[str, Any], **metadata: Any) -> Node:
    return msgspec.convert({"metadata": {"name": "n", **metadata}, "status": status}, Node)


READY = {"conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        (node("n", unschedulable=True), node("n"), Action.UPDATE_NODE_TAINT),
        (node("n", cpu="1"), node("n", cpu="1000m"), Action(0)),
        (node("n", cpu="1"), node_offering("n", "one"), Action.UPDATE_NODE_ALLOCATABLE),
        (of_node(READY), of_node({}), Action.UPDATE_NODE_CONDITION),
        (of_node(READY), of_node({"conditions": [{**READY["conditions"][0], "reason": "x"}]}), Action(0)),
        (of_node({}), of_node({}, annotations={"a": "b"}), Action.UPDATE_NODE_ANNOTATION),
        (of_node({}), of_node({"declaredFeatures": ["One"]}), Action.UPDATE_NODE_DECLARED_FEATURE),
        (of_node({}), of_node({"images": [{"names": ["a"], "sizeBytes": 1}]}), Action(0)),
    ],
    ids=["uncordoned", "same-amount", "unreadable", "condition", "its-reason", "annotation", "feature", "image"],
)
def test_actions_between_two_versions_of_a_node(old: Node, new: Node, action: Action) -> None:
    assert node_actions(old, new) == action


GATED = ours(schedulingGates=[{"name": "wait"}])


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        (ours(), ours(), Action(0)),
        (ours(), ours(tolerations=[{"key": "k"}]), Action.UPDATE_POD_TOLERATION),
        (GATED, ours(), Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
        (GATED, ours(schedulingGates=[{"name": "other"}]), Action(0)),
        (pod("a", {"cpu": "2"}), pod("a", {"cpu": "1"}), Action.UPDATE_POD_SCALE_DOWN),
        (pod("a", {"cpu": "1"}), pod("a", {"cpu": "2"}), Action(0)),
        (pod("a", {"cpu": "1"}), pod_asking("a", "one"), Action(0)),
    ],
)
def test_actions_of_a_pod(old: Pod, new: Pod, action: Action) -> None:
    assert pod_actions(old, new) == action


def test_a_label_is_an_action_of_its_own() -> None:
    labelled = replace(ours(), metadata=replace(ours().metadata, labels={"app": "x"}))
    assert pod_actions(ours(), labelled) == Action.UPDATE_POD_LABEL
