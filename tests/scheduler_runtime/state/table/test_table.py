"""The table is at any time what a fresh count of its nodes and pods would give."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from scheduler_runtime import testing
from scheduler_runtime.state import objects
from scheduler_runtime.state.table import NodeTable, Table, allocatable_of
from tests.scheduler_runtime.state.table.changing import Changing
from tests.support.unreadable import node_offering, pod_asking

NAMES = st.sampled_from([f"node-{number}" for number in range(8)])
TAINTS = [objects.Taint(key="a", effect="NoSchedule"), objects.Taint(key="b", value="1", effect="NoExecute")]
RESOURCES = ["cpu", "memory", "ephemeral-storage", "example.com/gpu"]
AMOUNTS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 9).map(str))
NODES = st.builds(
    testing.node,
    NAMES,
    cpu=st.sampled_from(["1", "2500m"]),
    pods=st.sampled_from(["0", "3", "110"]),
    labels=st.dictionaries(st.sampled_from(["zone", "pool"]), st.sampled_from(["a", "b", "7"])),
    taints=st.lists(st.sampled_from(TAINTS), unique=True),
    unschedulable=st.booleans(),
    ephemeral_storage=st.sampled_from(["0", "100"]),
)


class TableAgainstRecount(Changing):
    """Any sequence of changes, compared with a table that is counted from nothing."""

    @rule(node=NODES)
    def set_node(self, node: objects.Node) -> None:
        self.node_comes(node)

    @rule(name=NAMES, amounts=AMOUNTS)
    def add_pod(self, name: str, amounts: dict[str, str]) -> None:
        self.pod_comes(testing.pod(self.next_name(), amounts), name)

    @rule(key=st.sampled_from(["zone", "pool", "kubernetes.io/hostname", "none"]))
    def look_at_a_label(self, key: str) -> None:
        self.table.label(key)

    @invariant()
    def rows_are_the_nodes(self) -> None:
        assert sorted(self.table.names) == sorted(self.nodes)
        for row, name in enumerate(self.table.names):
            assert self.table.row(name) == row
            assert self.table.node(row) == self.nodes[name]

    @invariant()
    def columns_are_what_nodes_say(self) -> None:
        sets = self.table.taint_sets
        for row, name in enumerate(self.table.names):
            node = self.nodes[name]
            offers = allocatable_of(node)
            assert self.table.max_pods[row] == offers["pods"]
            assert self.table.unschedulable[row] == node.spec.unschedulable
            assert sets[self.table.taint_set_ids[row]] == node.spec.taints
            for resource in RESOURCES:
                assert self.table.allocatable(resource)[row] == offers.get(resource, 0)

    @invariant()
    def labels_are_what_nodes_say(self) -> None:
        for key in ("zone", "pool", "kubernetes.io/hostname", "none"):
            column = self.table.label(key)
            values = ["" if number == 0 else column.values[number - 1] for number in column.ids]
            assert values == [self.nodes[name].labels.get(key, "") for name in self.table.names]

    @invariant()
    def sums_are_the_pods_on_each_node(self) -> None:
        sums: dict[str, Counter[str]] = defaultdict(Counter)
        scored: dict[str, Counter[str]] = defaultdict(Counter)
        there: dict[str, set[str]] = defaultdict(set)
        for pod, name in self.pods.values():
            sums[name].update(pod.requests.amounts)
            scored[name].update({"cpu": pod.requests.scored_cpu, "memory": pod.requests.scored_memory})
            there[name].add(pod.uid)
        for row, name in enumerate(self.table.names):
            assert {pod.uid for pod in self.table.pods(row)} == there[name]
            assert self.table.pod_counts[row] == len(there[name])
            for resource in RESOURCES:
                assert self.table.requested(resource)[row] == sums[name][resource]
            for resource in ("cpu", "memory"):
                assert self.table.scored(resource)[row] == scored[name][resource]


TestTableAgainstRecount = TableAgainstRecount.TestCase
TestTableAgainstRecount.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def test_a_pod_counts_as_soon_as_its_node_appears() -> None:
    table = Table()
    table.add_pod(testing.pod("early", {"cpu": "1"}), "late")
    assert len(table) == 0
    table.set_node(testing.node("late"))
    assert table.requested("cpu").tolist() == [1000]


def test_a_node_that_comes_back_has_its_pods() -> None:
    cluster = testing.Cluster(testing.node("a"), testing.node("b"))
    cluster.place(testing.pod("p", {"cpu": "1"}), "a")
    cluster.table.remove_node("a")
    cluster.table.set_node(testing.node("a"))
    row = cluster.table.row("a")
    assert row is not None
    assert cluster.table.requested("cpu")[row] == 1000


def test_a_resized_pod_takes_back_what_it_gave() -> None:
    cluster = testing.Cluster(testing.node("a"))
    cluster.place(testing.pod("p", {"cpu": "1"}), "a")
    cluster.table.remove_pod(testing.pod("p", {"cpu": "3"}), "a")
    assert cluster.table.requested("cpu").tolist() == [0]


def test_a_pod_cannot_be_counted_twice() -> None:
    cluster = testing.Cluster(testing.node("a"))
    cluster.place(testing.pod("p"), "a")
    with pytest.raises(ValueError, match=r"pod default/p \(uid-of-p\) is on node a already"):
        cluster.place(testing.pod("p"), "a")


def test_what_is_not_there_cannot_be_removed() -> None:
    cluster = testing.Cluster(testing.node("a"))
    with pytest.raises(KeyError):
        cluster.table.remove_pod(testing.pod("p"), "a")
    with pytest.raises(KeyError):
        cluster.table.remove_pod(testing.pod("p"), "nowhere")
    with pytest.raises(KeyError):
        cluster.table.remove_node("nowhere")


def test_unreadable_quantities_count_as_nothing() -> None:
    cluster = testing.Cluster(node_offering("a", "lots"), testing.node("b"))
    cluster.place(pod_asking("p", "lots"), "b")
    assert cluster.table.allocatable("cpu").tolist() == [0, 4000]
    assert cluster.table.pod_counts.tolist() == [0, 1]
    assert cluster.table.requested("cpu").tolist() in ([], [0, 0])


def test_plugins_cannot_write() -> None:
    table = testing.Cluster(testing.node("a", labels={"zone": "x"})).table
    nodes = NodeTable(table, np.ones(1, np.bool_))
    for column in (nodes.allocatable("cpu"), nodes.pod_counts, nodes.unschedulable, nodes.label("zone").ids):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_keys_that_only_pods_speak_of_take_no_room() -> None:
    table = testing.Cluster(testing.node("a")).table
    assert table.label("made-up-1") is table.label("made-up-2")


def test_labels_and_taints_that_keep_changing_take_bounded_room() -> None:
    table = Table()
    for number in range(500):
        table.set_node(testing.node("a", labels={"stamp": str(number)}, taints=[objects.Taint(key=str(number))]))
        assert len(table.label("stamp").values) <= 70
        assert len(table.taint_sets) <= 70
    assert table.label("stamp").equals("499").tolist() == [True]
    assert table.taint_sets[table.taint_set_ids[0]] == (objects.Taint(key="499"),)


def test_a_label_that_no_node_has_any_more_is_dropped() -> None:
    table = testing.Cluster(testing.node("a", labels={"kept": "x"})).table
    column = table.label("kept")
    for number in range(5):
        table.set_node(testing.node("a", labels={"kept": "x", f"key-{number}": "x"}))
        assert table.label(f"key-{number}").exists().tolist() == [True]
    assert table.label("key-0") is table.label("never seen")
    assert table.label("kept") is column
    table.remove_node("a")
    assert table.label("kept") is table.label("never seen")


def test_resources_take_room_only_while_somebody_speaks_of_them() -> None:
    table = testing.Cluster(testing.node("a"), testing.node("b")).table
    offered = table.resources
    only_once: dict[str, Any] = {"example.com/once": "1"}
    table.set_node(testing.node("a", **only_once))
    table.set_node(testing.node("a"))
    table.add_pod(testing.pod("nothing", {"example.com/nothing": "0"}), "a")
    table.add_pod(testing.pod("one", {"example.com/one": "1"}), "a")
    table.add_pod(testing.pod("two", {"example.com/two": "1"}), "b")
    assert table.resources == {*offered, "example.com/one", "example.com/two"}
    table.remove_pod(testing.pod("one"), "a")
    table.remove_node("b")
    hypothetical = table.hypothetical_node(0)
    hypothetical.add(testing.pod("tried", {"example.com/tried": "1"}))
    hypothetical.restore()
    assert table.resources == offered
    table.set_node(testing.node("b"))
    assert table.requested("example.com/two").tolist() == [0, 1]


def test_looking_up_labels() -> None:
    nodes = [
        testing.node("a", labels={"n": "5"}),
        testing.node("b", labels={"n": "12"}),
        testing.node("c", labels={"n": "x"}),
    ]
    column = testing.Cluster(*nodes, testing.node("d")).table.label("n")
    assert column.equals("5").tolist() == [True, False, False, False]
    assert column.isin(["12", "x", "y"]).tolist() == [False, True, True, False]
    assert column.exists().tolist() == [True, True, True, False]
    assert column.above(5).tolist() == [False, True, False, False]
    assert column.below(12).tolist() == [True, False, False, False]
    assert column.map({"5": "0.5", "12": 2}, missing=-1).tolist() == [0.5, 2.0, -1.0, -1.0]
