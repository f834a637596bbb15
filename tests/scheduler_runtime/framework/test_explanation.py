"""A decision explained in full is the decision that is made."""

from __future__ import annotations

import msgspec
import pytest

from scheduler_runtime import testing
from scheduler_runtime.framework import Placed, Unschedulable
from scheduler_runtime.framework.explanation import explain
from scheduler_runtime.state import objects

TAINTED = [objects.Taint(key="dedicated", effect="NoSchedule")]
DISCOURAGED = [objects.Taint(key="spot", effect="PreferNoSchedule")]


def cluster() -> testing.Cluster:
    result = testing.Cluster(
        testing.node("a", cpu="4"),
        testing.node("b", cpu="8", taints=DISCOURAGED),
        testing.node("c", cpu="1"),
        testing.node("d", taints=TAINTED),
    )
    result.place(testing.pod("runs", {"cpu": "1"}), "a")
    return result


def test_scores_are_weighted_and_add_up() -> None:
    explanation = explain(testing.framework({}), testing.pod("p", {"cpu": "2"}), cluster())
    assert explanation.feasible == {"a", "b"}
    assert explanation.scores["TaintToleration"] == {"a": 300, "b": 0}
    for node in explanation.feasible:
        assert explanation.totals[node] == sum(scores[node] for scores in explanation.scores.values())


def test_rejecting_plugins_are_there_with_their_reasons() -> None:
    explanation = explain(testing.framework({}), testing.pod("p", {"cpu": "2"}), cluster())
    assert explanation.rejected == {
        "TaintToleration": {"node(s) had untolerated taint(s)": 1},
        "NodeResourcesFit": {"Insufficient cpu": 1},
    }


def test_cached_answers_change_nothing() -> None:
    framework, nodes = testing.framework({}), cluster()
    for number in range(3):
        pod = testing.pod(f"p-{number}", {"cpu": "1"})
        explanation = explain(framework, pod, nodes)
        assert explain(framework, pod, nodes) == explanation
        outcome = framework.schedule(pod, nodes)
        assert isinstance(outcome, Placed)
        assert explanation.totals[outcome.node] == max(explanation.totals.values())


def test_one_feasible_node_is_not_scored() -> None:
    explanation = explain(testing.framework({}), testing.pod("p", {"cpu": "5"}), cluster())
    assert explanation.feasible == {"b"}
    assert not explanation.scores
    assert not explanation.totals


@pytest.mark.parametrize("node", ["a", "b"])
def test_the_nominated_node_alone_is_feasible_while_it_does(node: str) -> None:
    pod = testing.pod("p", {"cpu": "2"})
    nominated = msgspec.structs.replace(pod, status=objects.PodStatus(nominated_node_name=node))
    assert explain(testing.framework({}), nominated, cluster()).feasible == {node}


def test_a_pod_that_fits_nowhere() -> None:
    framework, pod = testing.framework({}), testing.pod("p", {"cpu": "50"})
    assert explain(framework, pod, cluster()).feasible == frozenset()
    assert isinstance(framework.schedule(pod, cluster()), Unschedulable)
    assert explain(framework, pod, testing.Cluster()).feasible == frozenset()
