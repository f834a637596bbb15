"""Decisions leave room for pods that are nominated to nodes, and try a pod's own nominated node first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import CLEAR, Cycle, NodeTable, Nomination, Plugin, Pod, Reject, Verdicts
from scheduler_runtime.framework import Placed, PluginError, Unschedulable
from tests.support.preempting import HIGH, LARGE, LOW, MEDIUM, MID, SMALL, VERY_LARGE, Scene, pod

ON_A = {"nominatedNodeName": "a"}


def placed_on(scene: Scene, incoming: Pod) -> str:
    outcome = scene.schedule(incoming)
    assert isinstance(outcome, Placed), outcome
    return outcome.node


def nominate(scene: Scene, node: str, *pods: Pod) -> Scene:
    for other in pods:
        scene.nominations.nominate(other, node)
    return scene


@pytest.mark.parametrize("priority", [HIGH, MID])
def test_a_nominated_pod_that_is_at_least_as_important_has_its_room(priority: int) -> None:
    scene = nominate(Scene(["a", "b"]), "a", pod("n", priority, LARGE))
    assert placed_on(scene, pod("p", MID, LARGE)) == "b"


def test_a_less_important_nominated_pod_has_to_give_way() -> None:
    scene = nominate(Scene(["a"]), "a", pod("n", LOW, LARGE))
    assert placed_on(scene, pod("p", MID, LARGE)) == "a"


def test_the_reasons_against_a_node_with_nominated_pods_are_as_if_they_were_there() -> None:
    scene = Scene(["a", "b", "c"], [pod("x", HIGH, LARGE, node="b")])
    nominate(scene, "a", pod("n", HIGH, {"cpu": "300m", "memory": "300"}))
    nominate(scene, "gone", pod("m", HIGH))
    nominate(scene, "c", pod("o", HIGH, {"cpu": "500m"}))
    refused = scene.refused(pod("p", MID, {"cpu": "300m", "memory": "300"}))
    assert refused.message.startswith("0/3 nodes are available: 2 Insufficient memory, 3 Insufficient cpu.")
    assert refused.plugins == {"NodeResourcesFit"}


def near(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_a_pod_does_not_go_near_another_that_is_only_nominated() -> None:
    scene = nominate(Scene(["a"], [pod("x", LOW, node="a")]), "a", pod("n", HIGH, labels={"app": "n"}))
    refused = scene.refused(pod("p", LOW, affinity=near("n")))
    assert refused.message.startswith("0/1 nodes are available: 1 node(s) didn't match pod affinity rules.")


def test_its_own_nominated_node_comes_first_and_alone() -> None:
    scene = Scene(["a", "b"], [pod("x", LOW, MEDIUM, node="a")])
    assert placed_on(scene, pod("p", HIGH, SMALL, status=ON_A)) == "a"
    assert placed_on(scene, pod("q", HIGH, SMALL)) == "b"  # which is emptier


def test_another_node_is_used_when_its_own_does_not_do() -> None:
    scene = Scene(["a", "b"], [pod("x", HIGH, LARGE, node="a")])
    assert placed_on(scene, pod("p", HIGH, LARGE, status=ON_A)) == "b"
    assert placed_on(Scene(["b"]), pod("p", HIGH, LARGE, status=ON_A)) == "b"


def test_on_its_own_node_too_others_have_their_room() -> None:
    scene = nominate(Scene(["a", "b"]), "a", pod("n", HIGH, LARGE))
    assert placed_on(scene, pod("p", HIGH, LARGE, status=ON_A)) == "b"


def test_a_placed_pod_is_nominated_no_more() -> None:
    scene = Scene(["a"])
    incoming = pod("p", HIGH, SMALL)
    nominate(scene, "a", incoming)
    assert placed_on(scene, incoming) == "a"
    assert not scene.nominations


def test_a_placement_that_is_undone_takes_the_nomination_back() -> None:
    scene = Scene(["a"])
    outcome = scene.schedule(pod("p", HIGH, SMALL, status=ON_A))
    assert isinstance(outcome, Placed)
    scene.framework.release(outcome, scene.cluster)
    assert scene.nominations.node_of(outcome.pod) == ""


def test_a_decision_to_preempt_is_remembered_and_one_that_nothing_helps_too() -> None:
    scene = Scene(["a"], [pod("x", LOW, LARGE, node="a")])
    assert scene.nominated(pod("p", HIGH, LARGE)) == "a"
    assert [other.name for other in scene.nominations.nominated_to("a")] == ["p"]
    assert scene.nominated(pod("p", LOW, LARGE)) == ""
    assert not scene.nominations


class Fails(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        raise RuntimeError("broken")


def test_an_attempt_that_fails_takes_the_nomination_back() -> None:
    scene = Scene(["a"], [], Fails)
    with pytest.raises(PluginError):
        scene.schedule(pod("p", HIGH, status=ON_A))
    assert scene.nominations.node_of(pod("p", HIGH, status=ON_A)) == ""


def test_without_a_post_filter_the_nomination_is_cleared() -> None:
    off = {"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}
    decides = testing.framework(off)
    outcome = decides.schedule(pod("p", HIGH, VERY_LARGE), testing.Cluster(testing.node("a", cpu="100m")))
    assert isinstance(outcome, Unschedulable)
    assert outcome.nomination == Nomination(CLEAR)


class Tries(Plugin):
    """Notes what a trial says."""

    answers: list[Any]

    def post_filter(self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle) -> list[str]:
        there = list(nodes.pods(0))
        with self.handle.trial(0) as trial:
            before = [reject.reason for reject in trial.rejections()]
            trial.remove(*there)
            self.answers = [before, trial.fits(), len(nodes.pods(0)), nodes.pod_counts.item(0)]
            trial.add(there[0])
            self.answers += [trial.fits(), nodes.requested("cpu").item(0)]
        self.answers += [len(nodes.pods(0)), nodes.requested("cpu").item(0)]
        return ["tried"]


def test_a_trial_changes_what_filters_see_and_ends_with_its_block() -> None:
    pods = [pod(name, HIGH, MEDIUM, node="a") for name in "xy"]
    scene = Scene(["a"], pods, Tries)
    assert scene.refused(pod("p", HIGH, LARGE)).message.startswith("0/1 nodes are available: 1 Insufficient cpu")
    tries: Any = scene.framework.plugin("Tries")
    assert tries.answers == [["Insufficient cpu", "Insufficient memory"], True, 0, 0, True, 200, 2, 400]
    with pytest.raises(RuntimeError, match="outside of post_filter"):
        tries.handle.trial(0)


class Counts(Plugin):
    """Takes two pods to a node; its state counts those of the node, in a list that it changes in place."""

    class State:
        def __init__(self, counts: list[int]) -> None:
            self.counts = counts

        def clone(self) -> Counts.State:
            return Counts.State(list(self.counts))

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> State:
        return self.State(nodes.pod_counts.tolist())

    def filter(self, pod: Pod, nodes: NodeTable, state: State) -> Iterator[Reject]:
        for row, count in enumerate(state.counts):
            mask = nodes.feasible & False
            mask[row] = count >= 2
            yield Reject(mask, "two are there")

    def add_pod(self, pod: Pod, nodes: NodeTable, state: State, other: Pod, row: int) -> State:
        state.counts[row] += 1
        return state

    def remove_pod(self, pod: Pod, nodes: NodeTable, state: State, other: Pod, row: int) -> State:
        state.counts[row] -= 1
        return state


def test_states_follow_a_trial_and_every_node_starts_anew() -> None:
    pods = [pod(f"{name}{number}", LOW + number, node=name) for name in "ab" for number in range(2)]
    scene = Scene(["a", "b"], pods, Counts)
    scene.refused(pod("p", HIGH))
    assert scene.candidates == {"a": (["a0"], 0), "b": (["b0"], 0)}
    scene.nominations.forget("p")
    nominate(scene, "a", pod("n", HIGH))
    scene.refused(pod("q", MID))
    assert scene.candidates == {"a": (["a1", "a0"], 0), "b": (["b0"], 0)}


@pytest.mark.parametrize("count", [3, 30])
def test_few_and_many_nodes_with_nominated_pods_have_the_same_message(count: int) -> None:
    """Few are looked at one by one, many at once."""
    names = [f"n{number}" for number in range(count)]
    nodes = [testing.node(name, cpu="500m", memory="500", pods="1" if name == "n0" else "9") for name in names]
    scene = Scene([*nodes, testing.node("full", cpu="100m", memory="500")])
    for name in names:
        nominate(scene, name, pod(f"on-{name}", HIGH, {"cpu": "400m"}))
    refused = scene.refused(pod("p", MID, {"cpu": "200m"}))
    assert refused.message.startswith(
        f"0/{count + 1} nodes are available: 1 Too many pods, {count + 1} Insufficient cpu."
    )
    scene.nominations.forget("on-n2")
    assert placed_on(scene, pod("p", MID, {"cpu": "200m"})) == "n2"
