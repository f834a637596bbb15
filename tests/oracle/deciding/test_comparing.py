"""The comparison of decisions: differences, tolerated deviations, and the report of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from scheduler_runtime.plugins import IN_TREE
from tests.oracle.deciding.comparing import differences
from tests.oracle.deciding.decision import Decision
from tests.oracle.deciding.tally import Tally

PLACED = Decision(
    pod="alpha/new-0",
    node="a",
    feasible=frozenset({"a", "b"}),
    scores={"NodeResourcesFit": {"a": 50, "b": 50}, "TaintToleration": {"a": 0, "b": 0}},
    totals={"a": 50, "b": 50},
)
PREEMPTING = Decision(
    pod="alpha/new-0",
    message="0/2 nodes are available: 2 Insufficient cpu.",
    note="0/2 nodes are available: 2 Insufficient cpu.",
    nominated="a",
    victims={"a": frozenset({"alpha/run-0"}), "b": frozenset({"alpha/run-1"})},
    best_candidates=frozenset({"a", "b"}),
)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param(PLACED, PLACED, id="the-same"),
        pytest.param(PLACED, replace(PLACED, node="b"), id="another-of-the-best"),
        pytest.param(
            PLACED, replace(PLACED, scores={"NodeResourcesFit": {"a": 50, "b": 50}}), id="no-points-or-no-word"
        ),
        pytest.param(PREEMPTING, PREEMPTING, id="the-same-victims"),
        pytest.param(PREEMPTING, replace(PREEMPTING, nominated="b"), id="another-of-the-best-candidates"),
    ],
)
def test_no_difference(theirs: Decision, ours: Decision) -> None:
    assert differences(theirs, ours) == []


@pytest.mark.parametrize(
    ("theirs", "ours", "text"),
    [
        pytest.param(PLACED, PREEMPTING, "theirs: a", id="placed-here-only"),
        pytest.param(PLACED, replace(PLACED, feasible=frozenset({"a"})), "feasible only there: b", id="feasible"),
        pytest.param(
            PLACED,
            replace(PLACED, scores={"NodeResourcesFit": {"a": 49, "b": 50}}),
            "NodeResourcesFit scores (there, here): {'a': (50, 49)}",
            id="one-score",
        ),
        pytest.param(PLACED, replace(PLACED, totals={"a": 50, "b": 51}), "it chose a", id="not-the-best"),
        pytest.param(PREEMPTING, replace(PREEMPTING, message="0/3"), "condition there", id="condition"),
        pytest.param(PREEMPTING, replace(PREEMPTING, note="0/3"), "event there", id="event"),
        pytest.param(
            PREEMPTING, replace(PREEMPTING, victims={"a": frozenset({"alpha/run-0"})}), "victims there", id="victims"
        ),
        pytest.param(
            PREEMPTING,
            replace(PREEMPTING, nominated="b", best_candidates=frozenset({"b"})),
            "nominated there: 'a'",
            id="a-worse-candidate",
        ),
    ],
)
def test_a_difference(theirs: Decision, ours: Decision, text: str) -> None:
    assert any(difference.startswith(text) for difference in differences(theirs, ours))


def test_plugins_that_a_run_never_used_are_listed() -> None:
    kinds = {name: IN_TREE[name] for name in ("NodePorts", "TaintToleration", "ImageLocality", "PrioritySort")}
    tally = Tally(rejected=Counter(["TaintToleration"]), scored=Counter(["TaintToleration", "ImageLocality"]))
    assert tally.idle(kinds) == [
        "ImageLocality never decided",
        "NodePorts never rejected",
        "TaintToleration never decided",
    ]
