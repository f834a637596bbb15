"""Nodes and pods in a line: their fields are there, and what is misspelt is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Action, ClusterEvent, NodeTable, Plugin, Pod, Reject
from scheduler_runtime.framework import Placed
from tests.support.sound_plugin import breach_of

GOLD = testing.node("gold", labels={"metal": "gold"})


def test_a_pod_has_its_labels_and_its_namespace() -> None:
    pod = testing.pod("p", {"cpu": "1"}, labels={"tier": "gold"}, namespace="team", priority=3)
    assert (pod.labels, pod.key, pod.spec.priority) == ({"tier": "gold"}, "team/p", 3)
    assert pod.uid != testing.pod("p").uid


def test_annotations_are_there_to_read() -> None:
    annotations = {"example.com/owner": "us"}
    assert testing.pod("p", annotations=annotations).metadata.annotations == annotations


def test_a_pod_without_labels_has_none_to_read() -> None:
    assert testing.pod("p").labels == {}


def test_fields_that_no_scheduler_reads_are_accepted() -> None:
    assert testing.pod("p", restartPolicy="Never", serviceAccountName="x").spec == testing.pod("p").spec


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: testing.pod("p", prioritty=4), r"pod\(\): prioritty is not a field; did you mean priority\?"),
        (lambda: testing.pod("p", node_selector={}), r"node_selector is not a field; did you mean nodeSelector\?"),
        (lambda: testing.pod("p", label={}), r"label is not a field; did you mean labels\?"),
        (
            lambda: testing.pod("p", metadata={}),
            r"metadata is not a field; the fields are requests, labels, annotations",
        ),
        (lambda: testing.node("n", label="x"), r"node\(\): label is not a field; did you mean labels\?"),
        (lambda: testing.node("n", nonsense="3"), r"nonsense is not a field; the fields are cpu"),
    ],
)
def test_what_is_misspelt_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_a_node_offers_resources_of_any_name_that_a_pod_can_ask_for() -> None:
    more: dict[str, Any] = {"example.com/gpu_small": "2", "hugepages-2Mi": "1Gi"}
    allocatable = testing.node("n", ephemeral_storage="1Gi", **more).status.allocatable or {}
    assert {"ephemeral-storage", *more} < allocatable.keys()


def test_a_node_takes_its_resources_as_a_pod_does() -> None:
    allocatable = {"cpu": "8", "ephemeral-storage": "1Gi", "example.com/gpu": "2"}
    node = testing.node("n", allocatable)
    more: dict[str, Any] = {"example.com/gpu": "2"}
    assert node == testing.node("n", cpu="8", ephemeral_storage="1Gi", **more)
    with pytest.raises(TypeError, match=r"node\(\): cpus is not a field; did you mean cpu\?"):
        testing.node("n", {"cpus": "8"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: testing.pod("p", {"cpu": "abc"}), r"pod p: .*requests\[cpu\]: 'abc' is not a quantity such as 100m"),
        (lambda: testing.pod("p", requests={"memory": "1GB"}), r"requests\[memory\]: '1GB' is not a quantity"),
        (lambda: testing.pod("p", overhead={"cpu": "x"}), r"pod p: spec.overhead\[cpu\]: 'x' is not a quantity"),
        (lambda: testing.node("n", cpu="four"), r"node n: allocatable\[cpu\]: 'four' is not a quantity"),
    ],
)
def test_an_amount_that_is_no_quantity_is_refused_at_once(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_requests_may_be_named() -> None:
    assert testing.pod("p", requests={"cpu": "1"}) == testing.pod("p", {"cpu": "1"})


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two nodes called gold; give one of them another name"):
        testing.Cluster(GOLD, GOLD)


@pytest.mark.parametrize(
    ("enabled", "is_passed", "words"),
    [
        ("ForGold", False, "nor among the classes that are passed; pass its class, as in testing.framework(profile, "),
        ("ForGolds", True, "nor among the classes that are passed; did you mean ForGold?"),
        ("NodeNam", True, "there is no plugin 'NodeNam'; did you mean NodeName?"),
    ],
)
def test_a_plugin_whose_class_is_not_passed_is_refused(enabled: str, is_passed: bool, words: str) -> None:
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": enabled}]}}}
    with pytest.raises(ValueError, match=re.escape(words)):
        testing.framework(profile, *([ForGold] if is_passed else []))


def test_a_pod_that_was_not_placed_has_no_node_and_says_why() -> None:
    refused: Any = testing.framework().schedule(testing.pod("p", {"cpu": "9"}), testing.Cluster(GOLD))
    words = "no attribute 'node': default/p was not placed: 0/1 nodes are available: 1 Insufficient cpu."
    with pytest.raises(AttributeError, match=words):
        _ = refused.node
    with pytest.raises(AttributeError, match=r"no attribute 'nodes'$"):
        _ = refused.nodes


class ForGold(Plugin):
    """Says that it looks at nothing of a pod, and looks at its labels and annotations."""

    events = (ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),)

    def signature(self, pod: Pod) -> Hashable:
        return ()

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        if "gold" not in (pod.labels.get("tier"), (pod.metadata.annotations or {}).get("tier")):
            yield Reject(nodes.label("metal").equals("gold"), "node is for gold")


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_the_kit_finds_a_signature_that_leaves_out_what_its_examples_have(field: str) -> None:
    fields: list[Any] = [{field: {"tier": metal}} for metal in ("gold", "tin")]
    pods = [testing.pod("p", **more) for more in fields]
    nodes = [GOLD, testing.node("tin", labels={"metal": "tin"})]
    assert f"add metadata.{field} to signature" in breach_of(ForGold, "signature", nodes=nodes, pods=pods)


class NeedsAGate(Plugin):
    """Rejects every node while a gate of the version is off."""

    name = "NeedsAGate"

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        if not self.handle.enabled("TaintTolerationComparisonOperators"):
            yield Reject(True, "the gate is off")


def test_feature_gates_are_those_of_the_scheduler() -> None:
    def is_placed(**gates: bool) -> bool:
        profile = {"plugins": {"multiPoint": {"enabled": [{"name": "NeedsAGate"}]}}}
        decides = testing.framework(profile, NeedsAGate, feature_gates=gates)
        return isinstance(decides.schedule(testing.pod("p"), testing.Cluster(GOLD)), Placed)

    assert not is_placed()
    assert is_placed(TaintTolerationComparisonOperators=True)
    assert is_placed(AllAlpha=True, EventedPLEG=False)


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ({"TaintTolerationComparisonOperator": True}, "did you mean TaintTolerationComparisonOperators"),
        ({"SchedulerQueueingHints": False}, "SchedulerQueueingHints"),
    ],
)
def test_feature_gates_that_a_scheduler_refuses_are_refused(gates: dict[str, bool], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        testing.framework(feature_gates=gates)
