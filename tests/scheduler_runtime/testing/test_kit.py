"""The kit as a whole: a plugin passes, breaks promises, fails, or was not really checked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodePlugin, NodeTable, Plugin, Pod, Reject
from tests.support.sound_plugin import Sound, breach_of, broken


@pytest.mark.parametrize(
    ("args", "options"),
    [
        pytest.param(None, {}, id="no-args"),
        pytest.param({"mostPods": 4}, {"seed": 7}, id="args-as-in-yaml"),
        pytest.param(Sound.Args(most_pods=2), {"version": "v1.35.0"}, id="args-as-model"),
    ],
)
def test_a_plugin_that_keeps_the_contract_passes(args: Any, options: dict[str, Any]) -> None:
    testing.check(Sound, args, **options)


def rejects_everything(self: Any, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
    yield Reject(True, "no")


def test_every_promise_that_is_broken_stands_with_the_pod() -> None:
    plugin = broken(filter=rejects_everything, events=())
    with pytest.raises(testing.ContractError) as failed:
        testing.check(plugin)
    assert {"filter_row", "events"} <= {breach.check for breach in failed.value.breaches}
    message = str(failed.value)
    assert "Broken: it rejects, and declares no events" in message
    assert "Broken: filter_row disagrees with filter about node-0" in message
    assert "cluster 0, " in message


def test_the_same_seed_finds_the_same() -> None:
    plugin = broken(filter=rejects_everything)
    assert testing.breaches(plugin, seed=3) == testing.breaches(plugin, seed=3)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(lambda _: 1 / 0, "failed in filter: ZeroDivisionError: division by zero", id="raises"),
        pytest.param(lambda _: "no", "failed in filter: it yielded 'no', not a Reject", id="no-reject"),
        pytest.param(
            lambda _: Reject(np.ones(99, np.bool_), "x"), "failed in filter: it rejected bool (99,)", id="shape"
        ),
    ],
)
def test_a_filter_that_fails_is_named(answer: Any, words: str) -> None:
    class Filters(Plugin):
        def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Any]:
            yield answer(nodes)

    assert breach_of(Filters, "error").startswith(words)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(lambda nodes: np.full(len(nodes), np.nan), "is not a finite number", id="nan"),
        pytest.param(lambda nodes: np.full(len(nodes), 101), "it scored 101; return whole numbers", id="range"),
        pytest.param(lambda nodes: np.zeros(len(nodes)), "add normalize_score = highest_is_best", id="not-whole"),
        pytest.param(lambda nodes: [0] * len(nodes), "it scored list", id="type"),
    ],
)
def test_a_score_out_of_range_is_named(answer: Any, words: str) -> None:
    class Scores(Plugin):
        def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Any:
            return answer(nodes)

    sentence = breach_of(Scores, "error")
    assert sentence.startswith("failed in score: ")
    assert words in sentence


class LargeOnly(NodePlugin):
    """Never rejects a node that chance makes."""

    def filter_node(self, pod: Pod, node: Any) -> str | None:
        return "node is small" if node.labels.get("size") == "small" else None

    def score_node(self, pod: Pod, node: Any) -> float:
        return float(node.labels.get("size") == "huge")


def test_a_plugin_that_was_not_really_checked_does_not_pass_in_silence() -> None:
    sentences = [breach.sentence for breach in testing.breaches(LargeOnly)]
    assert sentences == [
        "in 60 clusters it rejected no node, so hardly anything was checked; give check() examples for which it does, "
        "as nodes=[…], pods=[…] or args",
        "in 60 clusters it scored no two nodes differently; give check() examples for which it does, as nodes=[…], "
        "pods=[…] or args",
    ]
    everywhere = broken(filter=lambda *_: [Reject(True, "no")], filter_row=lambda *_: [Reject(True, "no")])
    assert breach_of(broken(everywhere, score=None, score_row=None, normalize_score=None), "coverage").startswith(
        "in 60 clusters it accepted no node"
    )


class SizesMatter(LargeOnly):
    events = Sound.events


def test_examples_bring_out_what_chance_does_not() -> None:
    testing.check(SizesMatter, nodes=[testing.node("n", labels={"size": size}) for size in ("small", "large", "huge")])


def test_arguments_that_are_refused_are_a_breach() -> None:
    assert "mostPots: is not a field; did you mean mostPods?" in breach_of(Sound, "args", {"mostPots": 2})


def test_a_watched_object_needs_an_api_version() -> None:
    with pytest.raises(ValueError, match="an object lacks apiVersion"):
        testing.check(Sound, objects=[{"kind": "ConfigMap", "metadata": {}}])


def test_the_kit_needs_nothing_that_only_developers_of_berth_have() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = sys.modules['pytest'] = None; "
        "from scheduler_runtime import testing; from scheduler_runtime.plugins import IN_TREE; "
        "testing.check(IN_TREE['PrioritySort'])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
