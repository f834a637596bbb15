"""A plugin that breaks the contract is named, with the hook and what was wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import (
    SKIP,
    Answer,
    ClusterEvent,
    Declaration,
    Event,
    Ints,
    Node,
    NodePlugin,
    NodeTable,
    Plugin,
    Pod,
    Reject,
    highest_is_best,
)
from scheduler_runtime.catalog import Action
from scheduler_runtime.framework import PluginError, RegistrationError
from scheduler_runtime.framework.hook import Hook, collect_rejections, exhausting
from tests.support.decisions import First, only, schedule


def filtering(answer: Callable[[NodeTable], Any]) -> type[Plugin]:
    class Filters(Plugin):
        def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Any]:
            yield answer(nodes)

    return Filters


def answering(answer: object) -> type[Plugin]:
    class Answers(Plugin):
        def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Any:
            return answer

    return Answers


def by_node(answer: Any) -> type[Plugin]:
    class ByNode(NodePlugin):
        def filter_node(self, pod: Pod, node: Node) -> str | None:
            return answer  # type: ignore[no-any-return]

    return ByNode


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
            filtering(lambda _: 1 / 0),
            "plugin Filters failed in filter: ZeroDivisionError: division by zero",
            id="filter-raises",
        ),
        pytest.param(
            filtering(lambda _: "no"),
            "plugin Filters failed in filter: it yielded 'no', not a Reject",
            id="no-reject",
        ),
        pytest.param(
            filtering(lambda _: Reject(np.ones(2, np.bool_), "x")),
            "plugin Filters failed in filter: it rejected bool (2,); expected True, or a bool for each of 3 nodes",
            id="filter-shape",
        ),
        pytest.param(
            filtering(lambda _: Reject(np.ones(3), "x")),  # type: ignore[arg-type]
            "plugin Filters failed in filter: it rejected float64 (3,); expected True, or a bool for each of 3 nodes",
            id="filter-type",
        ),
        pytest.param(
            filtering(lambda _: Reject([True, False, True], "x")),  # type: ignore[arg-type]
            "plugin Filters failed in filter: "
            "it rejected list; expected True, or a numpy array (np.array) with a bool for each of 3 nodes",
            id="filter-list",
        ),
        pytest.param(
            filtering(lambda _: Reject(True, "")),
            "plugin Filters failed in filter: "
            "the reason of a Reject is empty; say why, for users read it in the pod's events",
            id="filter-without-a-word",
        ),
        pytest.param(
            answering(None),
            "plugin Answers failed in filter: filter answered None; yield Rejects, or nothing if the pod fits",
            id="filter-forgot-to-yield",
        ),
        pytest.param(
            answering(True),
            "plugin Answers failed in filter: filter answered True; yield Rejects, or nothing if the pod fits",
            id="filter-says-yes",
        ),
        pytest.param(
            answering(Reject(True, "x")),
            "plugin Answers failed in filter: filter answered Reject; yield Rejects, or nothing if the pod fits",
            id="filter-returns",
        ),
        pytest.param(
            by_node(5), "plugin ByNode failed in filter: filter_node answered 5; expected text or None", id="node-5"
        ),
        pytest.param(
            by_node(["a"]),
            "plugin ByNode failed in filter: filter_node answered ['a']; expected text or None",
            id="node-list",
        ),
        pytest.param(
            by_node(""),
            "plugin ByNode failed in filter: the reason of a Reject is empty; say why, for users read it in the pod's "
            "events; where the pod fits, filter_node returns None",
            id="node-without-a-word",
        ),
        pytest.param(
            scoring(lambda _: np.zeros(2)),
            "plugin Judges failed in score: it scored float64 (2,); expected a number for each of 3 nodes",
            id="score-shape",
        ),
        pytest.param(
            scoring(lambda _: [1, 2, 3]),
            "plugin Judges failed in score: "
            "it scored list; expected a numpy array (np.array) with a number for each of 3 nodes",
            id="score-type",
        ),
        pytest.param(
            scoring(lambda _: np.array([1, np.nan, 3]), normalize_score=highest_is_best),
            "plugin Judges failed in score: its score of a feasible node is not a finite number",
            id="nan",
        ),
        pytest.param(
            scoring(lambda _: np.array([0, 101, 3])),
            "plugin Judges failed in score: it scored 101; "
            "return whole numbers from 0 to 100, or add normalize_score = highest_is_best",
            id="too-high",
        ),
        pytest.param(
            scoring(lambda _: np.array([0, -1, 300])),
            "plugin Judges failed in score: it scored -1; "
            "return whole numbers from 0 to 100, or add normalize_score = highest_is_best",
            id="too-low",
        ),
        pytest.param(
            scoring(lambda _: np.array([0.0, 1.0, 2.0])),
            "plugin Judges failed in score: its scores are float64; "
            "return whole numbers from 0 to 100, or add normalize_score = highest_is_best",
            id="not-whole",
        ),
        pytest.param(
            scoring(lambda _: np.zeros(3), normalize_score=lambda *_: np.array([0, 150, 3])),
            "plugin Judges failed in normalize_score: it scored 150; return whole numbers from 0 to 100",
            id="normalised-too-high",
        ),
        pytest.param(
            filtering(lambda _: dict[str, Any]()["example.com/rank"]),
            "plugin Filters failed in filter: KeyError: 'example.com/rank'",
            id="key-error",
        ),
        pytest.param(
            scoring(lambda _: np.zeros(3), normalize_score=fails_to_normalise),
            "plugin Judges failed in normalize_score: ZeroDivisionError: no maximum",
            id="normalising-raises",
        ),
    ],
)
def test_a_plugin_that_breaks_the_contract_is_named(plugin: type[Plugin], message: str) -> None:
    with pytest.raises(PluginError) as failed:
        schedule(plugin)
    assert str(failed.value) == message
    assert (failed.value.plugin, failed.value.hook) == (plugin.__name__, message.split()[4].rstrip(":"))


def test_a_filter_that_does_not_yield_is_an_error_with_a_clock_beside_it_and_for_one_row() -> None:
    with pytest.raises(PluginError, match="filter answered None; yield Rejects"):
        collect_rejections(Hook("Answers", "filter", exhausting(lambda *_: None)))
    with pytest.raises(PluginError, match="filter_row answered None; yield Rejects"):
        collect_rejections(Hook("Answers", "filter_row", lambda *_: None))


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


class LacksAKey(First):
    def __init__(self, args: Any, handle: Any) -> None:
        self.price = json.loads("{}")["price"]


class Asserts(First):
    def __init__(self, args: Any, handle: Any) -> None:
        raise AssertionError


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (Undeclared, "plugin Undeclared: Undeclared has filter, which is not declared"),
        (Promised, "plugin Promised: score is declared, but Promised has none"),
        (Half, "plugin Half: normalize_score without score never runs"),
        (CannotStart, "plugin CannotStart: it cannot be created: OSError: no such model file"),
        (LacksAKey, r"plugin LacksAKey: it cannot be created: KeyError: 'price' \(.*/test_broken_plugins\.py:\d+\)$"),
        (Asserts, r"plugin Asserts: it cannot be created: AssertionError \(.*/test_broken_plugins\.py:\d+\)$"),
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
    assert decides.queue.events["Hints"] == (ClusterEvent("Node", Action.ADD),)
    assert decides.queue.hint("Hints", Event("Node", Action.ADD, None, testing.node("a")), testing.pod("p")) is False
    assert decides.queue.hint("Hints", Event("Node", Action.ADD), testing.pod("p")) is True
    assert "hint failed" in caplog.text
    assert decides.queue.hint("DefaultBinder", Event("Node", Action.ADD), testing.pod("p")) is True
