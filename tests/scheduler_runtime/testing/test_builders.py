"""Nodes and pods in a line: what is written is there, and what is misspelt is refused."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Action, ClusterEvent, NodeTable, Plugin, Pod, Reject
from tests.support.sound_plugin import breach_of

GOLD = testing.node("gold", labels={"metal": "gold"})


def test_a_pod_has_the_labels_and_the_namespace_that_are_written() -> None:
    pod = testing.pod("p", {"cpu": "1"}, labels={"tier": "gold"}, namespace="team", priority=3)
    assert (pod.labels, pod.key, pod.spec.priority) == ({"tier": "gold"}, "team/p", 3)
    assert pod.uid != testing.pod("p").uid


def test_a_pod_without_labels_has_none_to_read() -> None:
    assert testing.pod("p").labels == {}


def test_fields_that_no_scheduler_reads_may_be_written() -> None:
    assert testing.pod("p", restartPolicy="Never", serviceAccountName="x").spec == testing.pod("p").spec


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: testing.pod("p", prioritty=4), r"pod\(\): prioritty is not a field; did you mean priority\?"),
        (lambda: testing.pod("p", node_selector={}), r"node_selector is not a field; did you mean nodeSelector\?"),
        (lambda: testing.pod("p", label={}), r"label is not a field; did you mean labels\?"),
        (lambda: testing.pod("p", metadata={}), r"metadata is not a field; the fields are labels, namespace, nodeName"),
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


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two nodes called gold; give one of them another name"):
        testing.Cluster(GOLD, GOLD)


class ForGold(Plugin):
    """Says that it looks at nothing of a pod, and looks at its labels."""

    events = (ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),)

    def signature(self, pod: Pod) -> Hashable:
        return ()

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        if pod.labels.get("tier") != "gold":
            yield Reject(nodes.label("metal").equals("gold"), "node is for gold")


def test_the_kit_finds_a_signature_that_leaves_out_the_labels_of_its_examples() -> None:
    pods = [testing.pod("p", labels={"tier": "gold"}), testing.pod("q", labels={"tier": "tin"})]
    nodes = [GOLD, testing.node("tin", labels={"metal": "tin"})]
    assert "signature" in breach_of(ForGold, "signature", nodes=nodes, pods=pods)
