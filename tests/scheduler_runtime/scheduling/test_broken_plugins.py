"""A plugin that fails, or answers what the contract does not know: its pod is told of plugin and hook, and no other
pod is concerned. From the queue to the node, with a real framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import (
    ALLOW,
    Action,
    ClusterEvent,
    Event,
    Plugin,
    Pod,
    QueueEntry,
    Reject,
    Wait,
    highest_is_best,
)
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.support.scheduling import Scene, running

Answer = Callable[..., Any]


def zeros(self: Any, pod: Pod, nodes: Any, *_: Any) -> Any:
    return np.zeros(len(nodes), np.int64)


def nothing(self: Any, *_: Any) -> Any:
    return None


def allows(self: Any, *_: Any) -> Any:
    return ALLOW


def no_reasons(self: Any, *_: Any) -> Any:
    return ()


def waits_a_word(*_: Any) -> Any:
    return Wait("10s")  # type: ignore[arg-type]


def without_reason(*_: Any) -> Any:
    return [Reject(True, None)]  # type: ignore[arg-type]


def by_name(self: Any, pod: Pod) -> Any:
    return pod.name


SOUND: dict[str, Answer] = {
    "pre_filter": nothing,
    "filter": no_reasons,
    "pre_score": nothing,
    "score": zeros,
    "normalize_score": zeros,
    "post_filter": no_reasons,
    "reserve": nothing,
    "permit": allows,
    "signature": by_name,
}


def fails(*_: Any) -> Any:
    raise ZeroDivisionError("a plugin's bug")


def breaking(hook: str, answer: Answer, **others: Any) -> type[Plugin]:
    """A plugin whose ``hook`` answers this for pods called broken, and is sound for all others."""

    def run(self: Any, pod: Pod, *rest: Any) -> Any:
        return answer(*rest) if pod.name == "broken" else SOUND[hook](self, pod, *rest)

    return type("Breaks", (Plugin,), {hook: run, **others})


async def assert_only_broken_fails(scene: Scene, message: str) -> None:
    """The broken pod is told of it and tried again; the other one is bound, and has all the room."""
    await scene.until(lambda: scene.binds.bound)
    assert [name for name, _ in scene.binds.bound] == ["a"]
    assert {note for reason, note in await scene.events() if reason == "FailedScheduling"} == {message}
    assert {why for why, _ in await scene.conditions()} == {"SchedulerError"}
    assert scene.cache.table.pod_counts.sum() == 1


CASES = [
    pytest.param("pre_filter", fails, {}, "ZeroDivisionError: a plugin's bug", id="pre_filter"),
    pytest.param("filter", fails, {}, "ZeroDivisionError: a plugin's bug", id="filter"),
    pytest.param("pre_score", fails, {"score": zeros}, "ZeroDivisionError: a plugin's bug", id="pre_score"),
    pytest.param("score", fails, {}, "ZeroDivisionError: a plugin's bug", id="score"),
    pytest.param("normalize_score", fails, {"score": zeros}, "ZeroDivisionError: a plugin's bug", id="normalize_score"),
    pytest.param("reserve", fails, {}, "ZeroDivisionError: a plugin's bug", id="reserve"),
    pytest.param("permit", fails, {}, "ZeroDivisionError: a plugin's bug", id="permit"),
    pytest.param(
        "signature",
        fails,
        {"filter": no_reasons, "row_local": True, "looks_at_pods": False},
        "ZeroDivisionError: a plugin's bug",
        id="signature",
    ),
    pytest.param(
        "signature",
        lambda: [1],
        {"filter": no_reasons, "row_local": True, "looks_at_pods": False},
        "TypeError: unhashable type: 'list'",
        id="signature-that-is-no-key",
    ),
    pytest.param("filter", without_reason, {}, "the reason of a Reject is None, not text", id="no-text"),
    pytest.param("filter", lambda *_: ["no"], {}, "it yielded 'no', not a Reject", id="no-reject"),
    pytest.param(
        "filter",
        lambda *_: [Reject(np.ones(9, np.bool_), "x")],
        {},
        "it rejected bool (9,); expected True, or a bool for each of 2 nodes",
        id="filter-shape",
    ),
    pytest.param(
        "filter",
        lambda *_: [Reject(True, "x", resolvable=np.ones(9, np.bool_))],
        {},
        "its resolvable is bool (9,); expected True or False, or a bool for each of 2 nodes",
        id="resolvable-shape",
    ),
    pytest.param(
        "score",
        lambda *_: np.zeros(9),
        {},
        "it scored float64 (9,); expected a number for each of 2 nodes",
        id="score-shape",
    ),
    pytest.param(
        "score",
        lambda *_: np.full(2, np.nan),
        {"normalize_score": highest_is_best},
        "its score of a feasible node is not a finite number",
        id="nan",
    ),
    pytest.param(
        "score",
        lambda *_: np.array([0, 101]),
        {},
        "it scored 101; return whole numbers from 0 to 100, or add normalize_score = highest_is_best",
        id="range",
    ),
    pytest.param(
        "reserve", lambda *_: False, {}, "it answered False, which is not one of its answers", id="reserve-no"
    ),
    pytest.param("permit", nothing, {}, "it answered None, which is not one of its answers", id="permit-none"),
    pytest.param(
        "permit",
        waits_a_word,
        {},
        "it waits '10s' seconds; expected a number above 0",
        id="permit-waits-a-word",
    ),
]


@pytest.mark.parametrize(("hook", "answer", "others", "problem"), CASES)
async def test_a_decision_that_fails_concerns_its_pod_alone(
    hook: str, answer: Answer, others: dict[str, Any], problem: str
) -> None:
    async with running(breaking(hook, answer, **others)) as scene:
        scene.cache.set_node(testing.node("m", cpu="4"))
        scene.add("broken", priority=9)
        scene.add("a")
        await assert_only_broken_fails(scene, f"plugin Breaks failed in {hook}: {problem}")


async def test_a_post_filter_that_fails_concerns_its_pod_alone() -> None:
    async with running(breaking("post_filter", fails), without=["DefaultPreemption"]) as scene:
        scene.add("broken", cpu="9", priority=9)
        scene.add("a")
        await assert_only_broken_fails(scene, "plugin Breaks failed in post_filter: ZeroDivisionError: a plugin's bug")


def gates(self: Any, pod: Pod) -> Any:
    return fails() if pod.name == "broken" else None


def answers_no(self: Any, pod: Pod) -> Any:
    return "no" if pod.name == "broken" else None


def sorts(self: Any, entry: QueueEntry) -> Any:
    return fails() if entry.pod.name == "broken" else entry.added_at


@pytest.mark.parametrize(
    ("hooks", "without", "message"),
    [
        pytest.param({"pre_enqueue": gates}, [], "pre_enqueue: ZeroDivisionError: a plugin's bug", id="pre_enqueue"),
        pytest.param({"pre_enqueue": answers_no}, [], "pre_enqueue: it answered 'no', which is not", id="no-reject"),
        pytest.param(
            {"sort_key": sorts}, ["PrioritySort"], "sort_key: ZeroDivisionError: a plugin's bug", id="sort_key"
        ),
    ],
)
async def test_a_plugin_that_fails_before_the_queue_concerns_its_pod_alone(
    hooks: dict[str, Any], without: list[str], message: str
) -> None:
    async with running(type("Breaks", (Plugin,), hooks), without=without) as scene:
        broken = scene.add("broken")
        scene.add("a")
        await scene.until(lambda: scene.binds.bound)
        assert scene.binds.bound == [("a", "n")]
        assert scene.place(broken) is QueuePlace.BACKOFF
        notes = {note for reason, note in await scene.events() if reason == "FailedScheduling"}
        assert len(notes) == 1
        assert notes.pop().startswith(f"plugin Breaks failed in {message}")


class FailsToHint(Plugin):
    """Rejects until there is a second node, and fails when it is asked whether that helps."""

    events = (ClusterEvent("Node", Action.ADD),)

    def filter(self, pod: Pod, nodes: Any, state: Any) -> Any:
        yield Reject(np.full(len(nodes), len(nodes) < 2), "too few nodes")

    def hint(self, event: Event, pod: Pod) -> Any:
        return fails()


class HintsNonsense(FailsToHint):
    def hint(self, event: Event, pod: Pod) -> Any:
        return "perhaps"


@pytest.mark.parametrize("plugin", [FailsToHint, HintsNonsense])
async def test_a_hint_that_fails_leaves_no_pod_behind(plugin: type[Plugin]) -> None:
    async with running(plugin) as scene:
        pod = scene.add("a")
        await scene.until(lambda: scene.place(pod) is QueuePlace.PARKED)
        new = testing.node("m")
        scene.cache.set_node(new)
        scene.queue.on_event(Event("Node", Action.ADD, None, new), 0)
        await scene.until(lambda: scene.binds.bound)


def by_kind(self: Any, entry: QueueEntry) -> Any:
    return (1, entry.pod.name) if entry.pod.name == "broken" else (1, 2.5)


def no_order(self: Any, entry: QueueEntry) -> Any:
    return {} if entry.pod.name == "broken" else 1


@pytest.mark.parametrize(
    ("sort_key", "message"),
    [
        (by_kind, "its key (1, 'broken') cannot be compared with the others; give every pod a tuple of the same types"),
        (no_order, "its key {} cannot be compared with the others; give every pod a tuple of the same types"),
    ],
)
async def test_a_key_that_cannot_be_compared_does_not_stop_the_queue(sort_key: Any, message: str) -> None:
    async with running(type("Breaks", (Plugin,), {"sort_key": sort_key}), without=["PrioritySort"]) as scene:
        scene.add("a")
        broken = scene.add("broken")
        scene.add("b")
        await scene.until(lambda: len(scene.binds.bound) == 2)
        assert scene.place(broken) is QueuePlace.BACKOFF
        notes = {note for reason, note in await scene.events() if reason == "FailedScheduling"}
        assert notes == {f"plugin Breaks failed in sort_key: {message}"}
