"""Match counts updated pod by pod, against counting all pods anew."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.state.objects import LabelSelector, Pod
from scheduler_runtime.state.table import (
    NO_REQUIREMENTS,
    PodSelection,
    PodSelector,
    Requirement,
    Requirements,
    Table,
    read_requirements,
    terms_of,
)
from scheduler_runtime.state.table import pod_counts as pod_counts
from scheduler_runtime.state.table.affinity_terms import TERM_KINDS
from scheduler_runtime.state.table.pod_counts import MAX_SUMS, MIN_CLEANUP

KEYS = st.sampled_from(["app", "tier"])
VALUES = st.sampled_from(["a", "b"])
REQUIREMENTS = st.builds(
    lambda key, operator, values: Requirement(
        key, operator, frozenset(values) if operator in ("In", "NotIn") else frozenset()
    ),
    KEYS,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.sets(VALUES, min_size=1),
)
SELECTORS = st.builds(
    PodSelector,
    st.none() | st.frozensets(st.sampled_from(["default", "other"]), min_size=1),
    st.lists(REQUIREMENTS, max_size=2).map(Requirements),
)
SELECTIONS = st.builds(PodSelection, st.lists(SELECTORS, min_size=1, max_size=2).map(tuple), st.booleans())
TERMS = st.fixed_dictionaries(
    {
        "topologyKey": st.just("zone"),
        "labelSelector": st.fixed_dictionaries({"matchLabels": st.dictionaries(KEYS, VALUES, max_size=1)}),
    }
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEIGHTED = st.fixed_dictionaries({"weight": st.sampled_from([1, 50]), "podAffinityTerm": TERMS})
AFFINITIES = st.fixed_dictionaries(
    {},
    optional={
        name: st.fixed_dictionaries(
            {}, optional={REQUIRED: st.lists(TERMS, max_size=2), PREFERRED: st.lists(WEIGHTED, max_size=2)}
        )
        for name in ("podAffinity", "podAntiAffinity")
    },
)
NODES = st.integers(0, 3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), NODES, VALUES),
        st.tuples(st.just("drop"), NODES, st.none()),
        st.tuples(
            st.just("pod"), NODES, st.tuples(st.dictionaries(KEYS, VALUES), st.booleans(), AFFINITIES, st.booleans())
        ),
        st.tuples(st.just("gone"), st.integers(0, 30), st.none()),
    ),
    max_size=25,
)


def with_metadata(pod: Pod, **metadata: Any) -> Pod:
    """``pod`` with other metadata."""
    return replace(pod, metadata=replace(pod.metadata, **metadata))


class World:
    """A table, and the pods that were put on it."""

    def __init__(self) -> None:
        self.table = Table()
        self.placed: list[tuple[Pod, str]] = []
        self.numbers = itertools.count()

    def step(self, what: str, number: int, more: Any) -> None:
        match what:
            case "node":
                self.table.set_node(testing.node(f"n{number}", labels={"zone": more}))
            case "drop" if self.table.row(f"n{number}") is not None:
                self.table.remove_node(f"n{number}")
            case "pod":
                self._place(f"n{number}", *more)
            case "gone" if self.placed:
                self.table.remove_pod(*self.placed.pop(number % len(self.placed)))

    def _place(self, node: str, labels: dict[str, str], dying: bool, affinity: Any, other: bool) -> None:
        more = {"deletion_timestamp": "2026-01-01T00:00:00Z"} if dying else {}
        pod = testing.pod(f"p{next(self.numbers)}", affinity=affinity)
        pod = with_metadata(pod, labels=labels, namespace="other" if other else "default", **more)
        self.placed.append((pod, node))
        self.table.add_pod(pod, node)

    def on(self, row: int) -> Iterator[Pod]:
        yield from self.table.pods(row)


@settings(max_examples=60, deadline=None)
@given(st.lists(SELECTIONS, min_size=1, max_size=3), STEPS)
def test_match_counts_are_what_counting_anew_gives(selections: list[PodSelection], steps: list[Any]) -> None:
    world = World()
    for step in steps:
        world.step(*step)
        table = world.table
        for selection in selections:
            counts = table.match_counts(selection)
            counted = [sum(selection.includes(pod) for pod in world.on(row)) for row in range(len(table))]
            zones = [table.node(row).labels.get("zone") for row in range(len(table))]
            assert counts.counts.tolist() == counted
            assert counts.total == sum(counted)
            values = [None, *table.label("zone").values]
            by_zone = [
                sum(number for number, zone in zip(counted, zones, strict=True) if zone == value) for value in values
            ]
            assert counts.by_domain("zone").tolist() == by_zone


def test_pods_come_after_a_label_got_a_value_that_no_node_had() -> None:
    world = World()
    world.step("node", 0, "a")
    counts = world.table.match_counts(PodSelection((PodSelector(None, NO_REQUIREMENTS),), True))
    assert counts.by_domain("zone").tolist() == [0, 0]
    world.step("node", 0, "b")
    world.step("pod", 0, ({}, False, None, False))
    assert counts.by_domain("zone").sum() == counts.counts.sum() == 1


@settings(max_examples=100, deadline=None)
@given(st.lists(SELECTIONS, max_size=3), STEPS, st.lists(SELECTIONS, min_size=1, max_size=3))
def test_match_counts_asked_for_later_are_counted_among_the_right_pods(
    earlier: list[PodSelection], steps: list[Any], later: list[PodSelection]
) -> None:
    world = World()
    for selection in earlier:
        world.table.match_counts(selection)
    for step in steps:
        world.step(*step)
    for selection in later:
        counted = [sum(selection.includes(pod) for pod in world.on(row)) for row in range(len(world.table))]
        assert world.table.match_counts(selection).counts.tolist() == counted


def applied(number: int) -> PodSelection:
    labels = frozenset((f"app-{number}",))
    return PodSelection((PodSelector(frozenset(("default",)), Requirements((Requirement("app", "In", labels),))),))


def crowded(nodes: int) -> Table:
    """Nodes with ten pods each, and a label that they share with the pods of no other node."""
    world = World()
    for number in range(nodes):
        world.table.set_node(testing.node(f"n{number}"))
        for _ in range(10):
            world._place(f"n{number}", {"app": f"app-{number}"}, False, None, False)
    return world.table


def test_counting_another_selection_looks_at_few_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    table, includes = crowded(20), PodSelection.includes
    looked_at: list[Pod] = []

    def recording(selection: PodSelection, pod: Pod) -> bool:
        looked_at.append(pod)
        return includes(selection, pod)

    table.match_counts(applied(0))
    monkeypatch.setattr(PodSelection, "includes", recording)
    assert table.match_counts(applied(5)).total == 10
    assert len(looked_at) == 10


def test_match_counts_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_counts, "MAX_BYTES", 20_000)
    table = crowded(20)
    for number in range(20):
        assert table.match_counts(applied(number)).total == 10
    cached = list(table._columns.match_counts)
    assert 2 < len(cached) < 20
    assert sum(counts.size for counts in cached) <= 20_000
    assert table.match_counts(applied(0)).counts.tolist() == [10, *[0] * 19]


def test_selections_with_thousands_of_requirements_take_bounded_memory() -> None:
    table = crowded(20)
    for number in range(100):
        keys = range(10_000 * number, 10_000 * (number + 1))
        requirements = Requirements(Requirement(f"k{key}", "NotIn", frozenset("v")) for key in keys)
        assert table.match_counts(PodSelection((PodSelector(None, requirements),))).total == 200
    assert 1 < len(list(table._columns.match_counts)) < 20


def test_what_was_counted_for_pods_that_are_gone_is_given_up() -> None:
    cluster = testing.Cluster(testing.node("a"))
    table = cluster.table
    for number in range(10 * MIN_CLEANUP):
        pod = testing.pod(f"p-{number}", labels={"app": f"app-{number}"})
        table.match_counts(applied(number))
        table.add_pod(pod, "a")
        table.remove_pod(pod, "a")
        assert len(list(table._columns.match_counts)) <= MIN_CLEANUP
    assert len(table._columns.match_counts._index._by_label) <= MIN_CLEANUP


def test_there_are_few_besides_those_that_count_pods() -> None:
    table = testing.Cluster(testing.node("a")).table
    for number in range(4 * MIN_CLEANUP):
        table.add_pod(testing.pod(f"p-{number}", labels={"app": f"app-{number}"}), "a")
        table.match_counts(applied(number))
    for number in range(4 * MIN_CLEANUP, 20 * MIN_CLEANUP):
        table.match_counts(applied(number))
    assert 4 * MIN_CLEANUP < len(list(table._columns.match_counts)) <= 5 * MIN_CLEANUP


def test_what_counts_pods_that_are_there_is_kept_when_the_rest_is_given_up() -> None:
    table = testing.Cluster(testing.node("a")).table
    table.add_pod(testing.pod("p", labels={"app": "app-0"}), "a")
    counts = table.match_counts(applied(0))
    for number in range(1, 10 * MIN_CLEANUP):
        table.match_counts(applied(number))
    assert table.match_counts(applied(0)) is counts
    table.add_pod(testing.pod("q", labels={"app": "app-5"}), "a")
    assert (counts.total, table.match_counts(applied(5)).total) == (1, 1)


def test_sums_by_many_labels_take_bounded_room() -> None:
    table = testing.Cluster(testing.node("a")).table
    counts = table.match_counts(PodSelection((PodSelector(None, NO_REQUIREMENTS),)))
    table.add_pod(testing.pod("p"), "a")
    for number in range(50):
        assert counts.by_domain(f"key-{number}").tolist() == [1]
        assert len(counts._sums) <= MAX_SUMS
    table.set_node(testing.node("a", labels={"zone": "z"}))
    assert counts.by_domain("zone").tolist() == [0, 1]
    assert list(counts._sums) == ["zone"]


@settings(max_examples=60, deadline=None)
@given(SELECTIONS, STEPS)
def test_following_the_changes_leads_to_the_counts(selection: PodSelection, steps: list[Any]) -> None:
    world = World()
    followed, position = (
        world.table.match_counts(selection).counts.tolist(),
        world.table.match_counts(selection).position,
    )
    for step in steps:
        world.step(*step)
        latest = world.table.match_counts(selection)
        changes = latest.changes_since(position)
        if changes is None:
            followed = latest.counts.tolist()
        for row, change in changes or ():
            followed[row] += change
        position = latest.position
        assert followed == latest.counts.tolist()


@settings(max_examples=60, deadline=None)
@given(STEPS, st.dictionaries(KEYS, VALUES))
def test_the_terms_that_select_a_pod_are_counted_where_pods_have_them(steps: list[Any], labels: dict[str, str]) -> None:
    world = World()
    pod = with_metadata(testing.pod("asking"), labels=labels)
    for step in steps:
        world.step(*step)
        for kind in TERM_KINDS:
            expected: dict[str, list[int]] = {}
            on_nodes = {key for row in range(len(world.table)) for key in world.table.node(row).labels}
            for row in range(len(world.table)):
                for other in world.on(row):
                    for term, points in terms_of(other).of(kind):
                        if term.topology_key in on_nodes and term.selects(pod, {}):
                            expected.setdefault(term.topology_key, [0] * len(world.table))[row] += points
            matching = world.table.terms(kind).matching(pod)
            assert {
                key: np.sum([points * pods.counts for pods, points in sources], axis=0).tolist()
                for key, sources in matching.items()
            } == expected


def test_a_selector_without_conditions_matches_every_pod_and_none_matches_no_pod() -> None:
    assert read_requirements(LabelSelector()) == ()
    assert read_requirements(None) is None


def test_a_selector_by_the_existence_of_a_label_looks_at_the_pods_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table()
    for number in range(20):
        table.set_node(testing.node(f"n{number}"))
        table.add_pod(testing.pod(f"p{number}", labels={"app": "x"}), f"n{number}")
    table.add_pod(testing.pod("rare", labels={"rare": ""}), "n7")
    looked_at = []
    includes = PodSelection.includes

    def noted(selection: PodSelection, pod: Pod) -> bool:
        looked_at.append(pod.metadata.name)
        return includes(selection, pod)

    monkeypatch.setattr(PodSelection, "includes", noted)
    for key, total in (("rare", 1), ("absent", 0)):
        selection = PodSelection((PodSelector(None, Requirements((Requirement(key, "Exists"),))),))
        assert table.match_counts(selection).total == total
    assert sorted(looked_at) == ["p7", "rare"]
