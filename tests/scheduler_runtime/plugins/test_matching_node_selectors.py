"""Operators of node selectors, on every kind of label: for one node and for all at once."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.plugins.matching import is_sound, matching_rows, problem_in, term_matches
from scheduler_runtime.state.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler_runtime.state.table import NodeTable

NODES = {
    "absent": testing.node("absent"),
    "a": testing.node("a", labels={"n": "a"}),
    "five": testing.node("five", labels={"n": "5"}),
    "twelve": testing.node("twelve", labels={"n": "12"}),
    "minus": testing.node("minus", labels={"n": "-3"}),
    "huge": testing.node("huge", labels={"n": "9223372036854775808"}),
}


def requirement(operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement("n", operator, values)


def expression(operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(requirement(operator, *values),))


def name(operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=(NodeSelectorRequirement("metadata.name", operator, values),))


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (expression("In", "a"), {"a"}),
        (expression("In", "a", "5", "none"), {"a", "five"}),
        (expression("In", "none"), set()),
        (expression("NotIn", "a", "5"), {"absent", "twelve", "minus", "huge"}),
        (expression("NotIn", "none"), set(NODES)),
        (expression("Exists"), set(NODES) - {"absent"}),
        (expression("DoesNotExist"), {"absent"}),
        (expression("Gt", "5"), {"twelve"}),
        (expression("Lt", "12"), {"five", "minus"}),
        (name("In", "five"), {"five"}),
        (name("In", "gone"), set()),
        (name("NotIn", "five"), set(NODES) - {"five"}),
        (
            NodeSelectorTerm(
                match_expressions=(
                    NodeSelectorRequirement("n", "Exists"),
                    NodeSelectorRequirement("n", "NotIn", ("a",)),
                ),
                match_fields=(NodeSelectorRequirement("metadata.name", "NotIn", ("huge",)),),
            ),
            {"five", "twelve", "minus"},
        ),
    ],
)
def test_a_term(term: NodeSelectorTerm, expected: set[str]) -> None:
    table = testing.Cluster(*NODES.values()).table
    rows = matching_rows(NodeSelector((term,)), NodeTable(table, np.ones(len(table), np.bool_)))
    assert {node for node, matched in zip(table.names, rows, strict=True) if matched} == expected
    assert {node for node, labels in NODES.items() if term_matches(term, labels)} == expected


@pytest.mark.parametrize(
    ("term", "problem"),
    [
        (expression("In"), "t.matchExpressions[0].values: is empty; In needs at least one value"),
        (expression("Exists", "a"), "t.matchExpressions[0].values: must be empty with Exists"),
        (expression("Gt", "1", "2"), "t.matchExpressions[0].values: has 2 values; Gt needs one"),
        (expression("Gt", "x"), "t.matchExpressions[0].values[0]: 'x' is not a whole number, which Gt needs"),
        (
            expression("In", "not a label"),
            "t.matchExpressions[0].values[0]: 'not a label' cannot be the value of a label",
        ),
        (expression("Like", "a"), "t.matchExpressions[0].operator: 'Like' is not an operator; the operators are In,"),
        (name("Exists"), "t.matchFields[0].operator: 'Exists' does not work on a field; the operators are In, NotIn"),
        (name("In", "a", "b"), "t.matchFields[0].values: has 2 values; a field is compared with one"),
    ],
)
def test_a_term_that_cannot_be_read_matches_nothing_and_says_why(term: NodeSelectorTerm, problem: str) -> None:
    table = testing.Cluster(*NODES.values()).table
    assert (problem_in(term, "t") or "").startswith(problem)
    assert not is_sound(term)
    assert not matching_rows(NodeSelector((term,)), NodeTable(table, np.ones(len(table), np.bool_))).any()


def test_a_selector_matches_where_one_of_its_terms_does() -> None:
    table = testing.Cluster(*NODES.values()).table
    selector = NodeSelector((expression("In", "a"), expression("In"), expression("In", "12"), NodeSelectorTerm()))
    rows = matching_rows(selector, NodeTable(table, np.ones(len(table), np.bool_)))
    assert {node for node, matched in zip(table.names, rows, strict=True) if matched} == {"a", "twelve"}
