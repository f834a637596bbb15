"""Bounds on how often terms are held against pods, when tenants' pods have thousands of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.state.table import AffinityTerm, PodSelection
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import (
    HOSTNAME,
    plugin,
    pod,
    preferred,
    required,
    table_of,
    term,
)

TERMS = 200


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of times that a term was held against a pod: by ``selects``, and by ``includes``."""
    calls: Counter[str] = Counter()

    def counted(name: str, original: Callable[..., bool]) -> Callable[..., bool]:
        def called(*arguments: Any) -> bool:
            calls[name] += 1
            return original(*arguments)

        return called

    for kind, name in ((AffinityTerm, "selects"), (PodSelection, "includes")):
        monkeypatch.setattr(kind, name, counted(name, getattr(kind, name)))
    return calls


def anybody(key: str, number: int) -> dict[str, Any]:
    """A term of its own that selects every pod."""
    but = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [f"x{number}"]}]}
    return {"topologyKey": key, "namespaceSelector": {}, "labelSelector": but}


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_terms_by_labels_that_no_node_has_cost_a_decision_nothing(kind: str, work: Counter[str]) -> None:
    cluster = testing.Cluster(*[testing.node(name) for name in ("a", "b")])
    by_absent = [anybody(f"t{number}", number) for number in range(TERMS)]
    for number, affinity in enumerate((required(kind, *by_absent), preferred(kind, 1, *by_absent))):
        cluster.place(pod(f"bound-{number}", affinity=affinity), "a")
    table, judge = table_of(cluster), plugin()
    honest = pod("honest", {"app": "honest"})
    judge.pre_filter(honest, table, {})
    judge.pre_score(honest, table, {})
    assert not work


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_terms_by_a_label_that_nodes_have_are_held_once_against_pods_that_are_alike(
    kind: str, work: Counter[str]
) -> None:
    cluster = testing.Cluster(*[testing.node(name) for name in ("a", "b")])
    by_host = [anybody(HOSTNAME, number) for number in range(TERMS)]
    for number, affinity in enumerate((required(kind, *by_host), preferred(kind, 1, *by_host))):
        cluster.place(pod(f"bound-{number}", affinity=affinity), "a")
    table, judge = table_of(cluster), plugin()
    for number in range(20):
        honest = pod(f"honest-{number}", {"app": "honest", "number": str(number)})
        judge.pre_filter(honest, table, {})
        points = judge.pre_score(honest, table, {})
        assert (
            judge.score(honest, table, points).tolist()
            == {
                "podAffinity": [2 * TERMS, 0],
                "podAntiAffinity": [-TERMS, 0],
            }[kind]
        )
    assert work == {"selects": 2 * TERMS}


def test_answers_about_pods_that_are_not_alike_are_bounded(work: Counter[str]) -> None:
    cluster = testing.Cluster(testing.node("a"))
    by_host = [anybody(HOSTNAME, number) for number in range(10)]
    cluster.place(pod("bound", affinity=preferred("podAffinity", 1, *by_host)), "a")
    table, judge = table_of(cluster), plugin()
    for number in range(40):
        unlike = pod(f"unlike-{number}", {"app": f"x{number}"})
        points = judge.pre_score(unlike, table, {})
        assert judge.score(unlike, table, points).tolist() == [9 if number < 10 else 10]
    (terms,) = table.terms("preferred")._lists.values()
    ((_, answers),) = terms._answers.values()
    assert len(answers) == 10


@pytest.mark.parametrize("key", ["t{}", HOSTNAME])
def test_a_pod_that_may_be_evicted_is_held_against_the_terms_that_may_select_it(key: str, work: Counter[str]) -> None:
    cluster = testing.Cluster(*[testing.node(f"node-{number}") for number in range(20)])
    victims = [pod(f"low-{number}", {"app": f"low-{number}"}) for number in range(20)]
    for row, victim in enumerate(victims):
        cluster.place(victim, cluster.table.names[row])
    table, judge = table_of(cluster), plugin()
    terms = [term(key.format(number), app=f"a{number}") for number in range(TERMS)]
    wants = pod("p", affinity=required("podAntiAffinity", *terms, term(HOSTNAME, app="low-3")))
    state = judge.pre_filter(wants, table, {})
    work.clear()
    for row, victim in enumerate(victims):
        without = judge.remove_pod(wants, table, state, victim, row)
        assert not list(judge.filter_row(wants, table, without, row))
        again = judge.add_pod(wants, table, without, victim, row)
        assert bool(list(judge.filter_row(wants, table, again, row))) is (row == 3)
    assert work["includes"] <= len(victims)


def test_pods_that_are_alike_to_the_terms_are_held_against_them_once(work: Counter[str]) -> None:
    cluster = testing.Cluster(testing.node("a"))
    table, judge = table_of(cluster), plugin()
    wants = pod("p", affinity=required("podAntiAffinity", *[anybody(HOSTNAME, number) for number in range(TERMS)]))
    shy = required("podAntiAffinity", *[anybody(HOSTNAME, number) for number in range(TERMS)])
    others = [pod(f"other-{number}", {"number": str(number)}, affinity=shy) for number in range(10)]
    state = judge.pre_filter(wants, table, {})
    work.clear()
    for other in others:
        state = judge.add_pod(wants, table, state, other, 0)
    assert work == {"includes": TERMS, "selects": TERMS}
    for other in others:
        assert list(judge.filter_row(wants, table, state, 0))
        state = judge.remove_pod(wants, table, state, other, 0)
    assert not list(judge.filter_row(wants, table, state, 0))
