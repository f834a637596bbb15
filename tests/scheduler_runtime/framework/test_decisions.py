"""One decision: which hooks run, in which order, what each answer causes, and what is left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import (
    CLEAR,
    SKIP,
    Answer,
    ClusterEvent,
    Cycle,
    Declaration,
    Event,
    Ints,
    NodeTable,
    Nomination,
    Plugin,
    Pod,
    Reject,
    Restrict,
    Scores,
    Verdicts,
    Wait,
    highest_is_best,
    lowest_is_best,
)
from scheduler_runtime.catalog import Action
from scheduler_runtime.framework import Placed, PluginError, RegistrationError, Unschedulable

CALLS: list[str] = []


@pytest.fixture(autouse=True)
def _forget_calls() -> None:
    CALLS.clear()


def only(*names: str, **points: Any) -> dict[str, Any]:
    """A profile of these plugins and what every profile needs."""
    enabled = [{"name": name} for name in ("PrioritySort", *names, "DefaultBinder")]
    return {"plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}, **points}}


def schedule(*plugins: type[Plugin], nodes: Iterable[str] = "abc") -> Placed | Unschedulable:
    cluster = testing.Cluster(*(testing.node(name) for name in nodes))
    decides = testing.framework(only(*(plugin.__name__ for plugin in plugins)), *plugins)
    return decides.schedule(testing.pod("p"), cluster)


def rows(nodes: NodeTable, *names: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.array([name in names for name in nodes.names])


class First(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> str:
        CALLS.append("First.pre_filter")
        cycle["seen"] = "by First"
        return "state of First"

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        CALLS.append(f"First.filter with {state}")
        yield Reject(rows(nodes, "a"), "is a")
        yield Reject(rows(nodes, "a", "b"), "is early")


class Second(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> str:
        CALLS.append(f"Second.pre_filter with {cycle['seen']}")
        return "state of Second"

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        CALLS.append(f"Second.filter sees {[name for row, name in enumerate(nodes.names) if nodes.feasible[row]]}")
        yield Reject(True, "is anything")


def test_filters_run_in_order_on_what_is_left_and_all_reasons_of_one_count() -> None:
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


def test_no_filter_runs_once_no_node_is_left() -> None:
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


class Gives(Plugin):
    """Scores a, b, c with 0, 30, 100 of the raw kind."""

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        CALLS.append("Gives.score")
        return np.array([{"a": 0, "b": 30, "c": 100}[name] for name in nodes.names])


class GivesRaw(Gives):
    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        return np.array([{"a": 1.5, "b": -7.25, "c": np.nan}[name] for name in nodes.names])

    normalize_score = lowest_is_best

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(rows(nodes, "c"), "has no score")


def test_the_best_score_wins() -> None:
    outcome = schedule(Gives)
    assert isinstance(outcome, Placed)
    assert outcome.node == "c"


def test_what_infeasible_nodes_score_does_not_matter() -> None:
    outcome = schedule(GivesRaw)
    assert isinstance(outcome, Placed)
    assert outcome.node == "b"


class Opposes(Plugin):
    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        return np.array([{"a": 100, "c": 40}[name] for name in nodes.names])


@pytest.mark.parametrize(("weight", "best"), [(1, "c"), (2, "a")])
def test_weights_multiply(weight: int, best: str) -> None:
    profile = only("Gives", "Opposes", score={"enabled": [{"name": "Opposes", "weight": weight}]})
    cluster = testing.Cluster(testing.node("a"), testing.node("c"))
    outcome = testing.framework(profile, Gives, Opposes).schedule(testing.pod("p"), cluster)
    assert isinstance(outcome, Placed)
    assert outcome.node == best


class Leaves(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(~rows(nodes, "b"), "is not b")


def test_a_node_that_is_the_only_one_is_not_scored() -> None:
    outcome = schedule(Leaves, Gives)
    assert isinstance(outcome, Placed)
    assert (outcome.node, CALLS) == ("b", [])


class Uninterested(Gives):
    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return SKIP


def test_a_plugin_that_skips_does_not_score() -> None:
    schedule(Uninterested)
    assert CALLS == []


class Remembers(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> str:
        return "filter state"

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> str:
        return "score state"

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        CALLS.append(state)
        return np.zeros(len(nodes), np.int64)

    def reserve(self, pod: Pod, node: str, state: Any) -> None:
        CALLS.append(state)


def test_scoring_and_reserving_each_get_their_state() -> None:
    schedule(Remembers)
    assert CALLS == ["score state", "filter state"]


def test_ties_are_broken_evenly_and_a_seed_repeats_them() -> None:
    def chosen(seed: int) -> list[str]:
        decides = testing.framework(only(), seed=seed)
        cluster = testing.Cluster(*(testing.node(name) for name in "abcd"))
        outcomes = [decides.schedule(testing.pod(f"p-{number}"), cluster) for number in range(400)]
        return [outcome.node for outcome in outcomes if isinstance(outcome, Placed)]

    assert chosen(7) == chosen(7)
    assert chosen(7) != chosen(8)
    counts = Counter(chosen(7))
    assert set(counts) == set("abcd")
    assert min(counts.values()) > 60


class Reserves(Plugin):
    def reserve(self, pod: Pod, node: str, state: Any) -> Reject | None:
        CALLS.append(f"{type(self).__name__}.reserve {node}")
        return None

    def unreserve(self, pod: Pod, node: str, state: Any) -> None:
        CALLS.append(f"{type(self).__name__}.unreserve {node}")


class ReservesToo(Reserves):
    pass


class RefusesTheNode(Reserves):
    def reserve(self, pod: Pod, node: str, state: Any) -> Reject | None:
        return Reject.pod("the node was taken")


class Forbids(Plugin):
    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return Reject.pod("no permission")


class Raises(Plugin):
    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (RefusesTheNode, "0/1 nodes are available: 1 the node was taken."),
        (Forbids, "0/1 nodes are available: 1 no permission."),
    ],
)
def test_a_placement_that_is_refused_is_undone_in_reverse(last: type[Plugin], message: str) -> None:
    cluster = testing.Cluster(testing.node("a"))
    plugins = (Reserves, ReservesToo, last)
    decides = testing.framework(only(*(plugin.__name__ for plugin in plugins)), *plugins)
    outcome = decides.schedule(testing.pod("p", {"cpu": "1"}), cluster)
    assert isinstance(outcome, Unschedulable)
    assert (outcome.message, outcome.plugins) == (message, frozenset({last.__name__}))
    assert CALLS[-2:] == ["ReservesToo.unreserve a", "Reserves.unreserve a"]
    assert cluster.assumed == {}
    assert cluster.table.requested("cpu").tolist() == [0]


def test_a_placement_that_fails_is_undone_too() -> None:
    cluster = testing.Cluster(testing.node("a"))
    decides = testing.framework(only("Reserves", "Raises"), Reserves, Raises)
    with pytest.raises(PluginError, match="plugin Raises failed in permit: out of order"):
        decides.schedule(testing.pod("p"), cluster)
    assert CALLS == ["Reserves.reserve a", "Reserves.unreserve a"]
    assert cluster.assumed == {}


class Makes(Plugin):
    answer: ClassVar[Any] = None

    def post_filter(
        self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle
    ) -> Nomination | Iterable[str] | None:
        CALLS.append(f"{type(self).__name__} {verdicts.unresolvable.tolist()} {sorted(verdicts.plugins)}")
        return self.answer  # type: ignore[no-any-return]


class Explains(Makes):
    answer = ("preemption: not helpful",)


class Nominates(Makes):
    answer = Nomination("a")


class Clears(Makes):
    answer = Nomination(CLEAR)


class Partly(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(rows(nodes, "a", "b"), "is early", resolvable=rows(nodes, "a"))
        yield Reject(rows(nodes, "c"), "is late", resolvable=False)
        yield Reject(rows(nodes, "a"), "is first")


def test_post_filter_hears_where_help_is_possible_and_its_words_come_last() -> None:
    outcome = schedule(Partly, Makes, Explains)
    assert isinstance(outcome, Unschedulable)
    assert outcome.message == "0/3 nodes are available: 1 is first, 1 is late, 2 is early. preemption: not helpful"
    assert [f"{name} [False, True, True] ['Partly']" for name in ("Makes", "Explains")] == CALLS


def test_a_nomination_ends_post_filter() -> None:
    outcome = schedule(Partly, Nominates, Explains)
    assert isinstance(outcome, Unschedulable)
    assert outcome.nomination == Nomination("a")
    assert outcome.message.endswith("2 is early.")
    assert len(CALLS) == 1


def test_a_nomination_can_be_taken_back() -> None:
    outcome = schedule(Partly, Clears)
    assert isinstance(outcome, Unschedulable)
    assert outcome.nomination == Nomination(CLEAR)


def filtering(answer: Callable[[NodeTable], Any]) -> type[Plugin]:
    class Filters(Plugin):
        def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Any]:
            yield answer(nodes)

    return Filters


def scoring(answer: Callable[[NodeTable], Any], **hooks: Any) -> type[Plugin]:
    class Judges(Plugin):
        def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Any:
            return answer(nodes)

    return type("Judges", (Judges,), hooks)


def fails_to_normalise(*_: Any) -> Ints:
    raise ZeroDivisionError("no maximum")


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        pytest.param(
            filtering(lambda _: 1 / 0), "plugin Filters failed in filter: division by zero", id="filter-raises"
        ),
        pytest.param(
            filtering(lambda _: "no"),
            "plugin Filters failed in filter: it yielded 'no', not a Reject",
            id="no-reject",
        ),
        pytest.param(
            filtering(lambda _: Reject(np.ones(2, np.bool_), "x")),
            "plugin Filters failed in filter: it rejected bool (2,); wanted is True, or a bool for each of 3 nodes",
            id="filter-shape",
        ),
        pytest.param(
            filtering(lambda _: Reject(np.ones(3), "x")),  # type: ignore[arg-type]
            "plugin Filters failed in filter: it rejected float64 (3,); wanted is True, or a bool for each of 3 nodes",
            id="filter-type",
        ),
        pytest.param(
            scoring(lambda _: np.zeros(2)),
            "plugin Judges failed in score: it scored float64 (2,); wanted is a number for each of 3 nodes",
            id="score-shape",
        ),
        pytest.param(
            scoring(lambda _: [1, 2, 3]),
            "plugin Judges failed in score: it scored list; wanted is a number for each of 3 nodes",
            id="score-type",
        ),
        pytest.param(
            scoring(lambda _: np.array([1, np.nan, 3]), normalize_score=highest_is_best),
            "plugin Judges failed in score: its score of a feasible node is not a finite number",
            id="nan",
        ),
        pytest.param(
            scoring(lambda _: np.array([0, 101, 3])),
            "plugin Judges failed in score: it scored 101 after normalising; scores go from 0 to 100",
            id="too-high",
        ),
        pytest.param(
            scoring(lambda _: np.array([0, -1, 300])),
            "plugin Judges failed in score: it scored -1 after normalising; scores go from 0 to 100",
            id="too-low",
        ),
        pytest.param(
            scoring(lambda _: np.array([0.0, 1.0, 2.0])),
            "plugin Judges failed in score: it returned float64 after normalising; wanted are whole numbers",
            id="not-whole",
        ),
        pytest.param(
            scoring(lambda _: np.zeros(3), normalize_score=fails_to_normalise),
            "plugin Judges failed in normalize_score: no maximum",
            id="normalising-raises",
        ),
    ],
)
def test_a_plugin_that_breaks_the_contract_is_named(plugin: type[Plugin], message: str) -> None:
    with pytest.raises(PluginError) as failed:
        schedule(plugin)
    assert str(failed.value) == message
    assert (failed.value.plugin, failed.value.hook) == (plugin.__name__, message.split()[4].rstrip(":"))


class Undeclared(First):
    declaration = Declaration(name="Undeclared", hooks=("pre_filter",))


class Promised(First):
    declaration = Declaration(name="Promised", hooks=("pre_filter", "filter", "score"))


class Half(Plugin):
    normalize_score = highest_is_best


class CannotStart(Plugin):
    def __init__(self, args: Any, handle: Any) -> None:
        raise OSError("no such model file")

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield from ()


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (Undeclared, "plugin Undeclared: Undeclared has filter, which is not declared"),
        (Promised, "plugin Promised: score is declared, but Promised has none"),
        (Half, "plugin Half: normalize_score without score never runs"),
        (CannotStart, "plugin CannotStart: it cannot be made: no such model file"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_refused(plugin: type[Plugin], message: str) -> None:
    with pytest.raises(RegistrationError, match=message):
        testing.framework(only(plugin.__name__), plugin)


class ReadsAnnotations(First):
    reads = ("metadata.annotations",)


def test_a_plugin_that_reads_what_is_not_decoded_is_refused() -> None:
    with pytest.raises(RegistrationError, match=r"it reads metadata\.annotations, which this build does not decode"):
        testing.framework(only("ReadsAnnotations"), ReadsAnnotations)


class Hints(Plugin):
    events = (ClusterEvent("Node", Action.ADD),)

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(True, "no")

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.new is None:
            raise LookupError("nothing new")
        return SKIP


def test_hints_decide_and_a_hint_that_fails_says_yes(caplog: pytest.LogCaptureFixture) -> None:
    decides = testing.framework(only("Hints"), Hints)
    assert decides.events()["Hints"] == (ClusterEvent("Node", Action.ADD),)
    assert decides.hint("Hints", Event("Node", Action.ADD, None, testing.node("a")), testing.pod("p")) is False
    assert decides.hint("Hints", Event("Node", Action.ADD), testing.pod("p")) is True
    assert "hint failed" in caplog.text
    assert decides.hint("DefaultBinder", Event("Node", Action.ADD), testing.pod("p")) is True
