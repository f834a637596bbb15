"""pre_filter and filter: the order in which they run, the effect of every answer, and the messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_runtime.api import SKIP, Cycle, NodeTable, Plugin, Pod, Reject, Restrict
from scheduler_runtime.framework import Placed, Unschedulable
from tests.support.decisions import CALLS, First, schedule


class Second(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> str:
        CALLS.append(f"Second.pre_filter with {cycle['seen']}")
        return "state of Second"

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        CALLS.append(f"Second.filter sees {[name for row, name in enumerate(nodes.names) if nodes.feasible[row]]}")
        yield Reject(True, "is anything")


def test_filters_run_in_order_on_the_remaining_nodes_and_all_reasons_of_one_count() -> None:
    outcome = schedule(First, Second)
    assert isinstance(outcome, Unschedulable)
    assert outcome.message == "0/3 nodes are available: 1 is a, 1 is anything, 2 is early."
    assert outcome.plugins == {"First", "Second"}
    assert CALLS == [
        "First.pre_filter",
        "Second.pre_filter with by First",
        "First.filter with state of First",
        "Second.filter sees ['c']",
    ]


def test_no_filter_runs_when_no_node_remains() -> None:
    outcome = schedule(First, Second, nodes="ab")
    assert isinstance(outcome, Unschedulable)
    assert outcome.plugins == {"First"}
    assert CALLS[-1] == "First.filter with state of First"


class Passes(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return SKIP

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        raise AssertionError("the filter of a plugin that skipped ran")


def test_a_plugin_that_skips_does_not_filter() -> None:
    assert isinstance(schedule(Passes), Placed)


class RefusesForNow(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return Reject.pod("not yet", resolvable=True)


class RefusesForGood(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return Reject.pod("never")


def test_a_resolvable_rejection_of_the_pod_lets_the_others_look_first() -> None:
    outcome = schedule(RefusesForNow, First)
    assert isinstance(outcome, Unschedulable)
    assert outcome.message == "0/3 nodes are available: not yet."
    assert CALLS == ["First.pre_filter"]


def test_an_unresolvable_rejection_of_the_pod_ends_it() -> None:
    outcome = schedule(RefusesForGood, First)
    assert isinstance(outcome, Unschedulable)
    assert (outcome.message, outcome.plugins) == ("0/3 nodes are available: never.", frozenset({"RefusesForGood"}))
    assert CALLS == []


class OnlyA(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return Restrict("state", frozenset({"a", "b"}))


class OnlyC(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return Restrict("state", frozenset({"c"}))


class OnlyNowhere(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return Restrict("state", frozenset())


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        ([OnlyA, OnlyC], "0/3 nodes are available: node(s) didn't satisfy plugin(s) [OnlyA OnlyC] simultaneously."),
        ([OnlyNowhere], "0/3 nodes are available: node(s) didn't satisfy plugin OnlyNowhere."),
        ([OnlyA, First], "0/3 nodes are available: 1 is a, 1 node(s) didn't satisfy plugin(s) [OnlyA], 2 is early."),
    ],
)
def test_restrictions_to_some_nodes_are_intersected(plugins: list[type[Plugin]], message: str) -> None:
    outcome = schedule(*plugins)
    assert isinstance(outcome, Unschedulable)
    assert outcome.message == message
    assert outcome.plugins == {plugin.__name__ for plugin in plugins}


class ByRow(Plugin):
    """Takes every node but c."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        raise AssertionError("all nodes were asked about")

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        CALLS.append(f"ByRow about {nodes.names[row]}")
        if nodes.names[row] == "c":
            yield Reject(True, "is c")


class OnlyB(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return Restrict("state", frozenset({"b"}))


def test_filters_of_a_pod_that_may_go_to_one_node_look_at_no_other() -> None:
    outcome = schedule(OnlyB, ByRow)
    assert isinstance(outcome, Placed)
    assert (outcome.node, CALLS) == ("b", ["ByRow about b"])


def test_the_message_has_the_reasons_against_the_only_node_and_the_reason_against_the_others() -> None:
    outcome = schedule(OnlyC, ByRow)
    assert isinstance(outcome, Unschedulable)
    assert outcome.message == ("0/3 nodes are available: 1 is c, 2 node(s) didn't satisfy plugin(s) [OnlyC].")
    assert outcome.plugins == {"OnlyC", "ByRow"}


class RefusesEarly(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        first = nodes.feasible.copy()
        first[1:] = False
        yield Reject(first, "is the first")


class WaitsForItsOwn(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(True, "is being made", pending=True)


class WaitsOutright(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return Reject.pod("is being made", pending=True)


@pytest.mark.parametrize("plugin", [WaitsForItsOwn, WaitsOutright])
def test_a_plugin_that_waits_for_something_it_started_is_pending(plugin: type[Plugin]) -> None:
    outcome = schedule(RefusesEarly, plugin)
    assert isinstance(outcome, Unschedulable)
    assert outcome.pending_plugins == {plugin.__name__}
