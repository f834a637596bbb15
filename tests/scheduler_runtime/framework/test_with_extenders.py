"""Decisions in which extenders have a say: what they ask for, one after the other, and what they make of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject, Restrict, Verdicts
from scheduler_runtime.framework import (
    ExtenderAnswers,
    FilterAnswer,
    FilterQuestion,
    Framework,
    Placed,
    ScoreQuestion,
    Unschedulable,
)
from scheduler_runtime.framework.extender_contract import MAX_ROUNDS

POD = testing.pod("p", {"cpu": "1"})


def cluster(count: int) -> testing.Cluster:
    return testing.Cluster(*(testing.node(f"n{number}", cpu="4") for number in range(count)))


def names(*numbers: int) -> list[str]:
    return [f"n{number}" for number in numbers]


def first_question(framework: Framework, nodes: testing.Cluster) -> FilterQuestion:
    question = framework.schedule(POD, nodes, ExtenderAnswers())
    assert isinstance(question, FilterQuestion)
    return question


def let_through(question: FilterQuestion, allowed: Iterable[str], **rejects: Reject) -> ExtenderAnswers:
    return ExtenderAnswers(filtered=FilterAnswer(question, frozenset(allowed), rejects), rounds=1)


def test_a_decision_asks_which_nodes_do_then_how_good_they_are() -> None:
    framework, nodes = testing.framework(), cluster(3)
    question = first_question(framework, nodes)
    assert question == FilterQuestion(names(0, 1, 2))
    answers = let_through(question, names(1, 2))
    assert framework.schedule(POD, nodes, answers) == ScoreQuestion(names(1, 2))
    outcome = framework.schedule(POD, nodes, replace(answers, scores={"n2": 10_000, "n0": 20_000}))
    assert isinstance(outcome, Placed)
    assert outcome.node == "n2"


@pytest.mark.parametrize("score", [-(2**63), -1, 2**63 - 1, 10**30])
def test_no_score_makes_up_for_a_node_that_does_not_do(score: int) -> None:
    framework, nodes = testing.framework(), cluster(3)
    answers = let_through(first_question(framework, nodes), names(0, 1))
    scores = {"n0": score, "n1": score, "n2": 2**63 - 1}
    outcome = framework.schedule(POD, nodes, replace(answers, scores=scores))
    assert isinstance(outcome, Placed)
    assert outcome.node in {"n0", "n1"}


def test_nothing_is_assumed_before_the_last_answer() -> None:
    framework, nodes = testing.framework(), cluster(3)
    framework.schedule(POD, nodes, let_through(first_question(framework, nodes), names(1, 2)))
    assert nodes.table.requested("cpu").tolist() == [0, 0, 0]


def test_reasons_of_extenders_join_those_of_plugins() -> None:
    framework, nodes = testing.framework(), cluster(3)
    nodes.place(testing.pod("big", {"cpu": "4"}), "n0")
    answers = let_through(
        first_question(framework, nodes), (), n1=Reject(True, "is cold"), n2=Reject(True, "is cold", resolvable=False)
    )
    outcome = framework.schedule(POD, nodes, answers)
    assert isinstance(outcome, Unschedulable)
    assert outcome.message.startswith("0/3 nodes are available: 1 Insufficient cpu, 2 is cold. ")
    assert outcome.plugins == {"NodeResourcesFit", "Extender"}


class Only(Plugin):
    """Leaves the first two nodes."""

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Any) -> Restrict:
        return Restrict(None, frozenset(names(0, 1)))

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        return iter(())


def test_a_node_that_extenders_omit_without_a_reason_counts_as_upstream_counts_it() -> None:
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Only"}]}}}
    for plugins, expected in (
        ((), "0/3 nodes are available:"),
        ((Only,), "3 node(s) didn't satisfy plugin(s) [Only]."),
    ):
        framework, nodes = testing.framework(profile if plugins else {}, *plugins), cluster(3)
        outcome = framework.schedule(POD, nodes, let_through(first_question(framework, nodes), ()))
        assert isinstance(outcome, Unschedulable)
        assert expected in outcome.message


def test_a_node_that_came_meanwhile_is_a_new_question_when_no_other_remains_and_not_for_ever() -> None:
    framework, nodes = testing.framework(), cluster(2)
    answers = let_through(first_question(framework, nodes), ())
    nodes.table.set_node(testing.node("n2", cpu="4"))
    assert framework.schedule(POD, nodes, answers) == FilterQuestion(names(0, 1, 2))
    assert isinstance(framework.schedule(POD, nodes, replace(answers, rounds=MAX_ROUNDS)), Unschedulable)
    answers = let_through(answers.filtered.question if answers.filtered else FilterQuestion(()), names(1))
    outcome = framework.schedule(POD, nodes, answers)
    assert isinstance(outcome, Placed)
    assert outcome.node == "n1"


def test_the_question_has_a_sample_which_stays_the_same_through_the_decision() -> None:
    framework, nodes = testing.framework({"percentageOfNodesToScore": 50}), cluster(300)
    question = first_question(framework, nodes)
    assert question == FilterQuestion(names(*range(150)), is_sample=True)
    outcome = framework.schedule(POD, nodes, let_through(question, names(7)))
    assert isinstance(outcome, Placed)
    assert outcome.node == "n7"
    assert first_question(framework, nodes).nodes == names(*range(150, 300))


def test_a_sample_of_which_nothing_remains_ends_the_attempt_as_upstream() -> None:
    framework, nodes = testing.framework({"percentageOfNodesToScore": 50}), cluster(300)
    rejects = {name: Reject(True, "is cold") for name in names(*range(150))}
    outcome = framework.schedule(POD, nodes, let_through(first_question(framework, nodes), (), **rejects))
    assert isinstance(outcome, Unschedulable)
    assert outcome.message.startswith("0/300 nodes are available: 150 is cold. ")


class Hears(Plugin):
    """Remembers where evicting pods would not help."""

    rows: ClassVar[list[int]] = []

    def post_filter(self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Any) -> None:
        self.rows[:] = [int(row) for row in np.flatnonzero(verdicts.unresolvable)]


def test_evicting_is_no_help_where_extenders_say_so_or_did_not_answer() -> None:
    multi_point = {"enabled": [{"name": "Hears"}], "disabled": [{"name": "DefaultPreemption"}]}
    profile = {"percentageOfNodesToScore": 50, "plugins": {"multiPoint": multi_point}}
    framework, nodes = testing.framework(profile, Hears), cluster(300)
    question = first_question(framework, nodes)
    rejects = {name: Reject(True, "is cold", resolvable=name != "n3") for name in question.nodes if name != "n5"}
    framework.schedule(POD, nodes, let_through(question, (), **rejects))
    assert Hears.rows == [3, 5, *range(150, 300)]
