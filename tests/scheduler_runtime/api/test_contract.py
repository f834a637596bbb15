"""The contract as an author meets it: what a class declares, the beginner's form, the ready-made normalisations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import (
    Action,
    ClusterEvent,
    Node,
    NodePlugin,
    NodeTable,
    Plugin,
    PluginArgs,
    Pod,
    Reject,
    Rule,
    Scores,
    Watch,
    declaration_of,
    highest_is_best,
    hooks_of,
    lowest_is_best,
)
from scheduler_runtime.framework import Placed, PluginError, Unschedulable

PRICES = {"small": 1.0, "large": 4.0, "huge": 20.0}


class PriceCap(Plugin):
    """Keep pods off nodes that cost too much, and prefer the cheapest of the rest."""

    class Args(PluginArgs):
        max_hourly_price: float = 10.0

    watches: ClassVar[tuple[Watch, ...]] = (Watch("v1", "ConfigMap", namespace="prices", name="node-prices"),)
    rules = (Rule(("metrics.k8s.io",), ("nodes",), ("list",)),)
    events = (ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),)
    row_local = True

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        price = nodes.label("size").map(PRICES, missing=np.inf)
        yield Reject(np.isinf(price), "node has no known price", resolvable=False)
        yield Reject(price > self.args.max_hourly_price, "node costs more than the profile allows", resolvable=False)

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        return nodes.label("size").map(PRICES, missing=0.0)

    normalize_score = lowest_is_best


class Cheap(PriceCap):
    """Without its ConfigMap, which needs a process that keeps objects."""

    watches = ()


def test_a_class_declares_what_it_has() -> None:
    declaration = declaration_of(PriceCap)
    assert declaration.name == "PriceCap"
    assert declaration.hooks == ("filter", "score", "normalize_score")
    assert declaration.args is PriceCap.Args
    assert declaration.rules_for() == (
        Rule(("metrics.k8s.io",), ("nodes",), ("list",)),
        Rule(("",), ("configmaps",), ("list", "watch"), ("node-prices",), "prices"),
    )
    assert declaration.points == {"filter", "score"}


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("ConfigMap", "configmaps"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Endpoints", "endpoints"),
    ],
)
def test_the_permission_to_watch_names_the_resource_of_the_kind(kind: str, resource: str) -> None:
    class Watcher(Plugin):
        watches = (Watch("example.com/v1", kind),)

    assert declaration_of(Watcher).rules_for()[0] == Rule(("example.com",), (resource,), ("list", "watch"))


def enabled(name: str, **args: Any) -> dict[str, Any]:
    return {
        "plugins": {"multiPoint": {"enabled": [{"name": name, "weight": 100}]}},
        "pluginConfig": [{"name": name, "args": args}] if args else [],
    }


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param({"a": "large", "b": "small"}, "b", id="cheapest-wins"),
        pytest.param({"a": "huge", "b": "large"}, "b", id="over-the-cap-is-out"),
        pytest.param({"a": "unknown", "b": "large"}, "b", id="unpriced-is-out"),
    ],
)
def test_a_plugin_of_ones_own_decides(sizes: dict[str, str], expected: str) -> None:
    cluster = testing.Cluster(*(testing.node(name, labels={"size": size}) for name, size in sizes.items()))
    outcome = testing.framework(enabled("Cheap"), Cheap).schedule(testing.pod("p"), cluster)
    assert isinstance(outcome, Placed)
    assert outcome.node == expected


def test_its_arguments_come_from_the_profile_and_its_reasons_reach_the_user() -> None:
    cluster = testing.Cluster(*(testing.node(size, labels={"size": size}) for size in (*PRICES, "unknown")))
    outcome = testing.framework(enabled("Cheap", maxHourlyPrice=0.5), Cheap).schedule(testing.pod("p"), cluster)
    assert isinstance(outcome, Unschedulable)
    assert outcome.message.startswith(
        "0/4 nodes are available: 1 node has no known price, 4 node costs more than the profile allows."
    )


def test_arguments_it_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match=r"maxHourlyPrize: is not a field; did you mean maxHourlyPrice\?"):
        testing.framework(enabled("Cheap", maxHourlyPrize=0.5), Cheap)


class NotOnMondays(NodePlugin):
    """One node at a time."""

    def filter_node(self, pod: Pod, node: Node) -> str | None:
        return "node rests on Mondays" if node.labels.get("day") == "monday" else None

    def score_node(self, pod: Pod, node: Node) -> float:
        return float(len(node.name))


class OnlyFilters(NodePlugin):
    def filter_node(self, pod: Pod, node: Node) -> str | None:
        return None


def test_the_beginners_form_has_the_hooks_of_what_it_implements() -> None:
    assert hooks_of(NotOnMondays) == {"filter", "filter_row", "score", "normalize_score"}
    assert hooks_of(OnlyFilters) == {"filter", "filter_row"}


def test_the_beginners_form_filters_and_scores_node_by_node() -> None:
    nodes = [testing.node("aaa"), testing.node("bb"), testing.node("cccc", labels={"day": "monday"})]
    decides = testing.framework(enabled("NotOnMondays"), NotOnMondays)
    outcome = decides.schedule(testing.pod("p"), testing.Cluster(*nodes))
    assert isinstance(outcome, Placed)
    assert outcome.node == "aaa"
    refused = decides.schedule(testing.pod("q"), testing.Cluster(nodes[2]))
    assert isinstance(refused, Unschedulable)
    assert refused.message.startswith("0/1 nodes are available: 1 node rests on Mondays.")


@pytest.mark.parametrize(
    ("raw", "feasible", "highest", "lowest"),
    [
        ([0.0, 5.0, 10.0], [True, True, True], [0, 50, 100], [100, 50, 0]),
        ([3.0, 3.0, 99.0], [True, True, False], [100, 100, 100], [100, 100, 100]),
        ([-10.0, np.nan, 0.0], [True, False, True], [0, 100, 100], [100, 100, 0]),
    ],
)
def test_normalizers(raw: list[float], feasible: list[bool], highest: list[int], lowest: list[int]) -> None:
    table = testing.Cluster(*(testing.node(name) for name in "abc")).table
    nodes = NodeTable(table, np.array(feasible))
    plugin: Any = None
    assert highest_is_best(plugin, testing.pod("p"), nodes, np.array(raw), None).tolist() == highest
    assert lowest_is_best(plugin, testing.pod("p"), nodes, np.array(raw), None).tolist() == lowest


class Wonders(Plugin):
    """Asks what would be if the pods on a node were gone."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        before = nodes.requested("cpu").tolist()
        with self.handle.what_if("a", add=[pod], remove=list(nodes.pods(0))) as supposed:
            tables = supposed.requested("cpu").tolist()
        yield Reject(True, f"{before} {tables} {nodes.requested('cpu').tolist()}")


class Imagines(Plugin):
    """Asks what would be without a pod that is not there."""

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        with self.handle.what_if("a", remove=[*nodes.pods(0), testing.pod("ghost")], add=[pod]):
            yield Reject(True, "never reached")


def test_what_if_that_fails_half_way_leaves_everything_as_it_was() -> None:
    cluster = testing.Cluster(testing.node("a"))
    cluster.place(testing.pod("there", {"cpu": "3"}), "a")
    with pytest.raises(PluginError, match="uid-of-ghost"):
        testing.framework(enabled("Imagines"), Imagines).schedule(testing.pod("p", {"cpu": "1"}), cluster)
    assert [pod.name for pod in cluster.table.pods(0)] == ["there"]
    assert (cluster.table.requested("cpu").tolist(), cluster.table.pod_counts.tolist()) == ([3000], [1])


def test_what_if_is_undone() -> None:
    cluster = testing.Cluster(testing.node("a"))
    cluster.place(testing.pod("there", {"cpu": "3"}), "a")
    outcome = testing.framework(enabled("Wonders"), Wonders).schedule(testing.pod("p", {"cpu": "1"}), cluster)
    assert isinstance(outcome, Unschedulable)
    assert "1 [3000] [1000] [3000]." in outcome.message
