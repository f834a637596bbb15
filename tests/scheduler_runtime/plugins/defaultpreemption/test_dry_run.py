"""Victims on each node: upstream's TestDryRunPreemption, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject
from scheduler_runtime.plugins.defaultpreemption.dry_run import AT_ONCE
from tests.support.preempting import HIGH, LARGE, LOW, MEDIUM, MID, SMALL, VERY_HIGH, VERY_LARGE, Scene, budget, pod

APP = {"app": "foo"}
T1, T2, T3, T4, T5 = (f"2026-01-01T00:00:0{second}Z" for second in range(1, 6))


class Never(Plugin):
    """Rejects every node."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(True, "never")


class Once(Plugin):
    """Rejects every node when all are looked at, and none when one is tried."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(True, "not yet")

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        return iter(())


TWO_MID = [pod("p1", MID, node="node1"), pod("p2", MID, node="node2")]


def test_a_pod_that_does_not_fit_on_any_node() -> None:
    scene = Scene(["node1", "node2"], TWO_MID, Never)
    assert scene.post_filter_message(pod("p", HIGH)) == "0/2 nodes are available: 2 never."


def test_a_pod_that_fits_with_no_preemption() -> None:
    scene = Scene(["node1", "node2"], TWO_MID, Once)
    expected = [f'expected at least one victim pod on node "{name}"' for name in ("node1", "node2")]
    assert sorted(scene.post_filter_message(pod("p", HIGH)).strip("[]").split(", ")) == expected


LARGE_ONES = [pod("p1", MID, LARGE, node="node1"), pod("p2", MID, LARGE, node="node2")]


@pytest.mark.parametrize(
    ("preemptor", "pods", "expected"),
    [
        pytest.param(
            pod("p", HIGH, LARGE),
            LARGE_ONES,
            {"node1": ["p1"], "node2": ["p2"]},
            id="a-pod-that-fits-on-both-nodes-when-lower-priority-pods-are-preempted",
        ),
        pytest.param(
            pod("p", LOW, LARGE),
            LARGE_ONES,
            {},
            id="a-pod-that-would-fit-but-other-pods-running-are-higher-priority",
        ),
        pytest.param(
            pod("p", HIGH, LARGE),
            [
                pod("p1.1", LOW, SMALL, node="node1"),
                pod("p1.2", MID, LARGE, node="node1"),
                pod("p2", MID, LARGE, node="node2"),
            ],
            {"node1": ["p1.2"], "node2": ["p2"]},
            id="medium-priority-pod-is-preempted-but-lower-priority-one-stays-as-it-is-small",
        ),
        pytest.param(
            pod("p", HIGH, LARGE),
            [
                pod("p1.1", MID, SMALL, node="node1"),
                pod("p1.2", LOW, SMALL, node="node1"),
                pod("p1.3", MID, MEDIUM, node="node1"),
                pod("p1.4", HIGH, SMALL, node="node1"),
                pod("p2", HIGH, LARGE, node="node2"),
            ],
            {"node1": ["p1.3", "p1.2"]},
            id="mixed-priority-pods-are-preempted",
        ),
        pytest.param(
            pod("p", HIGH, LARGE),
            [
                pod("p1.1", LOW, SMALL, node="node1", started=T5),
                pod("p1.2", LOW, SMALL, node="node1", started=T4),
                pod("p1.3", MID, MEDIUM, node="node1", started=T3),
                pod("p1.4", HIGH, SMALL, node="node1", started=T2),
                pod("p2", HIGH, LARGE, node="node2", started=T1),
            ],
            {"node1": ["p1.3", "p1.1"]},
            id="pick-later-start-time-one-when-priorities-are-equal",
        ),
    ],
)
def test_victims(preemptor: Pod, pods: Iterable[Pod], expected: dict[str, list[str]]) -> None:
    scene = Scene(["node1", "node2"], pods)
    scene.refused(preemptor)
    assert {node: victims for node, (victims, _) in scene.candidates.items()} == expected


def away_from(key: str, topology: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchExpressions": [{"key": key, "operator": "Exists"}]}, "topologyKey": topology}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_pod_with_anti_affinity_is_preempted() -> None:
    pods = [
        pod("p1.1", LOW, SMALL, node="node1", labels={"foo": ""}, affinity=away_from("foo", "kubernetes.io/hostname")),
        pod("p1.2", MID, SMALL, node="node1"),
        pod("p1.3", HIGH, SMALL, node="node1"),
        pod("p2", HIGH, VERY_LARGE, node="node2"),
    ]
    scene = Scene(["node1", "node2"], pods)
    scene.refused(pod("p", HIGH, SMALL, labels={"foo": ""}))
    assert scene.candidates == {"node1": (["p1.1"], 0)}


def spread(key: str) -> dict[str, Any]:
    selector = {"matchExpressions": [{"key": "foo", "operator": "Exists"}]}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}


def test_preemption_to_resolve_pod_topology_spread_filter_failure() -> None:
    zones = {"node-a": "zone1", "node-b": "zone1", "node-x": "zone2"}
    placed = [("a1", MID), ("a2", LOW), ("b1", LOW), ("x1", HIGH), ("x2", HIGH)]
    pods = [pod(f"pod-{name}", priority, node=f"node-{name[0]}", labels={"foo": ""}) for name, priority in placed]
    scene = Scene([testing.node(name, labels={"zone": zone}) for name, zone in zones.items()], pods)
    constraints = [spread("zone"), spread("kubernetes.io/hostname")]
    scene.refused(pod("p", HIGH, labels={"foo": ""}, topologySpreadConstraints=constraints))
    assert scene.candidates == {"node-a": (["pod-a2"], 0), "node-b": (["pod-b1"], 0)}


@pytest.mark.parametrize(
    ("count", "disrupted", "violations"),
    [
        pytest.param(2, [], 1, id="violation-of-same-pdb"),
        pytest.param(2, ["p2"], 1, id="the-victim-does-not-belong-to-disrupted-pods"),
        pytest.param(2, ["p1.2"], 0, id="the-victim-belongs-to-disrupted-pods"),
        pytest.param(3, ["p1.3"], 1, id="the-victim-in-disrupted-pods-is-treated-as-not-violating"),
    ],
)
def test_preemption_with_a_budget(count: int, disrupted: list[str], violations: int) -> None:
    names = [f"p1.{number + 1}" for number in range(count)]
    pods = [pod(name, MID, SMALL, node="node1", labels=APP) for name in names]
    scene = Scene(["node1"], pods, budgets=[budget("b", 1, disrupted, app="foo")])
    scene.refused(pod("p", HIGH, VERY_LARGE))
    (candidate,) = scene.candidates.values()
    assert (sorted(candidate[0]), candidate[1]) == (names, violations)


def few(percentage: int, absolute: int) -> dict[str, Any]:
    args = {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}
    return {"pluginConfig": [{"name": "DefaultPreemption", "args": args}]}


def starting_at(scene: Scene, row: int) -> None:
    """Begin the search with a certain node instead of a random one."""

    class First:
        def randrange(self, _: int) -> int:
            return row

    scene.framework.context.random = First()  # type: ignore[assignment]


NODES = [f"node{number}" for number in range(1, 6)]


@pytest.mark.parametrize(
    ("first", "others", "expected"),
    [
        pytest.param(4, {}, {"node5", "node1"}, id="all-nodes-are-possible-but-arguments-limit-to-2"),
        pytest.param(1, {}, {"node2", "node3"}, id="another-offset"),
        pytest.param(4, {"node2": VERY_HIGH, "node5": VERY_HIGH}, {"node1", "node3"}, id="some-nodes-are-not-possible"),
    ],
)
def test_no_more_candidates_are_looked_for_than_arguments_say(
    first: int, others: dict[str, int], expected: set[str]
) -> None:
    pods = [pod(f"on-{name}", others.get(name, MID), LARGE, node=name) for name in NODES]
    scene = Scene(NODES, pods, profile=few(40, 1))
    starting_at(scene, first)
    scene.refused(pod("p", HIGH, LARGE))
    assert set(scene.candidates) == expected


def test_as_many_nodes_are_tried_at_once_as_candidates_are_missing_and_then_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"node{number}" for number in range(300)]
    pods = [pod(f"on-{name}", VERY_HIGH if name == "node0" else MID, LARGE, node=name) for name in names]
    scene = Scene(names, [*pods, pod("small", LOW, SMALL, node="node0")], profile=few(10, 100))
    starting_at(scene, 0)
    sizes: list[int] = []
    trials = scene.plugin.handle.trials

    def counted(rows: Any) -> Any:
        sizes.append(len(rows))
        return trials(rows)

    monkeypatch.setattr(scene.plugin.handle, "trials", counted)
    scene.refused(pod("p", HIGH, LARGE))
    assert (sizes, len(scene.candidates)) == ([100, AT_ONCE], 100)


def test_preemption_looks_on_until_a_node_without_violation_is_found() -> None:
    pods = [pod(f"on-{name}", MID, LARGE, node=name, labels={} if name in NODES[2:4] else APP) for name in NODES]
    scene = Scene(NODES, pods, profile=few(40, 2), budgets=[budget("b", 0, app="foo")])
    starting_at(scene, 4)
    scene.refused(pod("p", HIGH, LARGE))
    assert {node: violations for node, (_, violations) in scene.candidates.items()} == {
        "node5": 1,
        "node1": 1,
        "node3": 0,
    }


def test_a_search_leaves_everything_as_it_was() -> None:
    pods = [pod(f"p{number}", LOW, SMALL, node="node1", labels=APP) for number in range(3)]
    scene = Scene(["node1"], pods)
    table = scene.cluster.table
    before = (table.requested("cpu").tolist(), table.pod_counts.tolist(), list(table.pods(0)), table.changes.position)
    scene.refused(pod("p", HIGH, {**VERY_LARGE, "example.com/gpu": "1"}))
    scene.refused(pod("p", HIGH, VERY_LARGE))
    after = (table.requested("cpu").tolist(), table.pod_counts.tolist(), list(table.pods(0)), table.changes.position)
    assert after == before
