"""Answers that a plugin should not give, and scores as small as they come."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import (
    Consult,
    Consulted,
    Cycle,
    NodeTable,
    Nomination,
    Plugin,
    Pod,
    Reject,
    Restrict,
    Scores,
    Verdicts,
)
from scheduler_runtime.framework import ExtenderAnswers, Placed, PluginError, Unschedulable, VictimQuestion
from scheduler_runtime.state import objects


class Restricts(Plugin):
    """Restricts the nodes to what the test says."""

    name = "Odd"
    to: Any = ()

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Restrict:
        return Restrict(None, self.to)


class Afterwards(Plugin):
    """Answers what the test says when no node takes the pod."""

    name = "Odd"
    answer: Any = ()

    def post_filter(self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle) -> Any:
        return self.answer() if callable(self.answer) else self.answer


def profile(weight: int = 0) -> dict[str, Any]:
    enabled: dict[str, Any] = {"name": "Odd"}
    if weight:
        enabled["weight"] = weight
    return {
        "plugins": {"multiPoint": {"enabled": [enabled]}, "postFilter": {"disabled": [{"name": "DefaultPreemption"}]}}
    }


def decide(kind: type[Plugin], *nodes: objects.Node, cpu: str = "1", weight: int = 0) -> Placed | Unschedulable:
    cluster = testing.Cluster(*(nodes or (testing.node("a"), testing.node("b"))))
    return testing.framework(profile(weight), kind).schedule(testing.pod("p", {"cpu": cpu}), cluster)


@pytest.mark.parametrize("names", [{"b"}, ["b"], ("b",), frozenset("b")])
def test_nodes_are_restricted_by_any_collection_of_names(names: Any) -> None:
    outcome = decide(type("To", (Restricts,), {"to": names}))
    assert isinstance(outcome, Placed)
    assert outcome.node == "b"


@pytest.mark.parametrize("names", ["b", [1], 5])
def test_a_restriction_to_anything_but_names_names_the_plugin(names: Any) -> None:
    with pytest.raises(PluginError, match=r"plugin Odd failed in pre_filter: it restricts .*; expected are names"):
        decide(type("To", (Restricts,), {"to": names}))


def raises() -> Iterator[str]:
    yield "one reason"
    raise ValueError("boom")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (raises, "ValueError: boom"),
        ([1, 2], "it gave 1 as a reason; expected text"),
        (Nomination("a", reasons="oops"), "it answered 'oops'; expected are reasons"),  # type: ignore[arg-type]
        (Nomination("ghost"), "it nominated 'ghost', which is no node"),
        (Reject.pod(5), "it gave 5 as a reason; expected text"),  # type: ignore[arg-type]
        (Consult([]), r"it answered Consult, but handle\.consults\(pod\) is false"),
        (7, "it answered 7; expected are reasons, a Nomination or a Reject"),
    ],
)
def test_an_odd_answer_of_post_filter_names_the_plugin(answer: Any, message: str) -> None:
    with pytest.raises(PluginError, match=f"plugin Odd failed in post_filter: {message}"):
        decide(
            type("Answers", (Afterwards,), {"answer": staticmethod(answer) if callable(answer) else answer}), cpu="9"
        )


class Exits(Plugin):
    """Ends the program in the hook that the test says."""

    name = "Odd"
    looks_at_pods = False

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(nodes.unschedulable, "cordoned")


def leaves(error: type[BaseException], *arguments: object) -> Callable[..., Any]:
    def hook(*_: object) -> Any:
        raise error(*arguments)

    return hook


@pytest.mark.parametrize("hook", ["pre_filter", "filter", "pre_score", "score", "post_filter", "signature"])
@pytest.mark.parametrize(
    ("error", "message"), [(SystemExit, "SystemExit: 3"), (asyncio.CancelledError, "CancelledError: 3")]
)
def test_a_plugin_cannot_end_the_program(hook: str, error: type[BaseException], message: str) -> None:
    kind = type("Exits", (Exits,), {hook: leaves(error, 3)})
    with pytest.raises(PluginError, match=f"plugin Odd failed in {hook}: {message}"):
        decide(kind, cpu="9" if hook == "post_filter" else "1")


def test_a_key_that_nobody_pressed_cannot_end_a_scheduler() -> None:
    kind = type("Exits", (Exits,), {"filter": leaves(KeyboardInterrupt)})
    before = signal.signal(signal.SIGINT, lambda *_: None)  # as a scheduler has one of its own
    try:
        with pytest.raises(PluginError, match="plugin Odd failed in filter: KeyboardInterrupt"):
            decide(kind, cpu="1")
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_key_that_somebody_pressed_in_a_test_ends_it() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        decide(type("Exits", (Exits,), {"filter": leaves(KeyboardInterrupt)}), cpu="1")


def test_extenders_are_consulted_once_and_not_for_ever() -> None:
    decides = testing.framework(profile(), type("Again", (Afterwards,), {"answer": Consult([])}))
    pod, cluster = testing.pod("p", {"cpu": "9"}), testing.Cluster(testing.node("a"))
    assert decides.schedule(pod, cluster, ExtenderAnswers()) == VictimQuestion([])
    with pytest.raises(PluginError, match=r"plugin Odd failed in post_filter: .* handle\.consulted is there"):
        decides.schedule(pod, cluster, ExtenderAnswers(victims=Consulted()))


class Narrow(Plugin):
    """Scores by a label, in one byte."""

    name = "Odd"

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        return nodes.label("score").map({"100": 100, "20": 20}, missing=0).astype(np.int8)


class CachedNarrow(Narrow):
    """The same, kept."""

    name = "Odd"
    looks_at_pods = False

    def signature(self, pod: Pod) -> Hashable:
        return ()


@pytest.mark.parametrize("kind", [Narrow, CachedNarrow])
def test_small_numbers_are_weighted_without_overflowing(kind: type[Plugin]) -> None:
    nodes = [testing.node(name, labels={"score": score}) for name, score in (("good", "100"), ("bad", "20"))]
    outcome = decide(kind, *nodes, weight=30)
    assert isinstance(outcome, Placed)
    assert outcome.node == "good"


def image(name: str, size: int) -> objects.ContainerImage:
    return objects.ContainerImage(names=(name,), size_bytes=size * 2**20)


def with_images(name: str, *images: objects.ContainerImage) -> objects.Node:
    node = testing.node(name)
    return objects.Node(
        metadata=node.metadata,
        spec=node.spec,
        status=objects.NodeStatus(allocatable=node.status.allocatable, images=images),
    )


def test_what_other_nodes_have_counts_at_once_for_nodes_that_did_not_change() -> None:
    big, small = image("big:v1", 1800), image("small:v1", 900)
    cluster = testing.Cluster(
        *(with_images(name, small) for name in ("n0", "n1", "n2")), with_images("n3", big), testing.node("n4")
    )
    decides = testing.framework()
    pods = [
        testing.pod(f"p{number}", containers=[{"name": "c", "image": "small:v1"}, {"name": "d", "image": "big:v1"}])
        for number in range(2)
    ]
    decides.schedule(pods[0], cluster)
    cluster.forget(pods[0])
    for name in ("n1", "n2"):
        cluster.table.set_node(with_images(name))
    outcome = decides.schedule(pods[1], cluster)
    assert isinstance(outcome, Placed)
    assert outcome.node == "n3"


@pytest.mark.parametrize("count", [1, 20], ids=["one-node", "many-nodes"])
def test_amounts_beyond_64_bits_go_round_wherever_they_are_added_up(count: int) -> None:
    """As upstream's do; the API server lets such pods through."""
    cluster, decides = testing.Cluster(), testing.framework()
    for number in range(count):
        cluster.table.set_node(testing.node(f"n{number}", memory="9E"))
        cluster.place(testing.pod(f"there-{number}", {"memory": "9E"}), f"n{number}")
        decides.nominations.nominate(testing.pod(f"nominated-{number}", {"memory": "9E"}, priority=5), f"n{number}")
    assert isinstance(decides.schedule(testing.pod("p"), cluster), Placed)
