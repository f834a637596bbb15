"""Cached answers that are brought up to date are those that plugins give anew, after any sequence of changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, ClassVar

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from scheduler_runtime import testing
from scheduler_runtime.api import Cycle, NodeTable, Plugin, Pod, Reject, Scores, highest_is_best
from scheduler_runtime.framework import Framework, Placed, Unschedulable
from scheduler_runtime.framework.answer_cache import AnswerCache
from scheduler_runtime.state import objects
from scheduler_runtime.state.table import Table

NAMES = [f"node-{number}" for number in range(9)]
TAINT = objects.Taint(key="a", effect="NoSchedule")
DISCOURAGING = objects.Taint(key="b", effect="PreferNoSchedule")
NODES = st.builds(
    testing.node,
    st.sampled_from(NAMES),
    cpu=st.sampled_from(["1", "2", "4"]),
    pods=st.sampled_from(["1", "110"]),
    labels=st.dictionaries(st.sampled_from(["zone", "price"]), st.sampled_from(["1", "2", "7"])),
    taints=st.lists(st.sampled_from([TAINT, DISCOURAGING]), unique=True),
    unschedulable=st.booleans(),
)
IN_ZONE_1 = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["1"]}]}
RATHER_ZONE_1 = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 9, "preference": IN_ZONE_1}]}
KINDS: list[dict[str, Any]] = [
    {},
    {"tolerations": [{"operator": "Exists"}]},
    {"nodeSelector": {"zone": "1"}},
    {"affinity": {"nodeAffinity": RATHER_ZONE_1}},
]


class Prices(Plugin):
    """A row-local plugin whose state has a row per node, and whose data can change."""

    row_local = True
    cap: ClassVar[float] = 5

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Scores:
        return nodes.label("price").map({"1": 1, "2": 2, "7": 7}, missing=0)

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(state > self.cap, "too dear", resolvable=False)
        yield Reject(state == 0, "no price", resolvable=nodes.pod_counts > 0)

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        dearness: Scores = np.negative(state)
        return dearness

    normalize_score = highest_is_best

    def signature(self, pod: Pod) -> Hashable:
        return ()


PROFILE = {"plugins": {"multiPoint": {"enabled": [{"name": "Prices"}]}, "postFilter": {"disabled": [{"name": "*"}]}}}


def summary(outcome: Placed | Unschedulable) -> tuple[str, frozenset[str]]:
    if isinstance(outcome, Placed):
        return outcome.node, frozenset()
    return outcome.message, outcome.plugins


class Never(AnswerCache):
    """Knows no class, so that every plugin is asked about every pod."""

    def lookup(self, pod: Pod, table: Table) -> None:
        return None


def uncached() -> Framework:
    """A framework that keeps nothing."""
    framework = testing.framework(PROFILE, Prices)
    framework.chooser.cache = Never((), (), 1, framework.context)
    return framework


class CachedAgainstFresh(RuleBasedStateMachine):
    """A framework that has followed everything, against one that is new for every question and has no cache."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = testing.Cluster()
        self.seasoned = testing.framework(PROFILE, Prices)
        self.pods: list[tuple[Pod, str]] = []
        self.count = 0

    @rule(node=NODES)
    def set_node(self, node: objects.Node) -> None:
        self.cluster.table.set_node(node)

    @precondition(lambda self: len(self.cluster.table) > 0)
    @rule(data=st.data())
    def remove_node(self, data: st.DataObject) -> None:
        self.cluster.table.remove_node(data.draw(st.sampled_from(sorted(self.cluster.table.names))))

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        pod, name = self.pods.pop(data.draw(st.integers(0, len(self.pods) - 1)))
        self.cluster.table.remove_pod(pod, name)

    @rule(kind=st.sampled_from(KINDS), cpu=st.sampled_from(["0", "500m", "1"]), stays=st.booleans())
    def decide(self, kind: dict[str, Any], cpu: str, stays: bool) -> None:
        self.count += 1
        pod = testing.pod(f"pod-{self.count}", {"cpu": cpu}, **kind)
        fresh = uncached()
        give_same_luck(fresh, self.seasoned)
        expected = fresh.schedule(pod, self.cluster)
        if isinstance(expected, Placed):
            self.cluster.forget(pod)
        outcome = self.seasoned.schedule(pod, self.cluster)
        assert summary(outcome) == summary(expected)
        if isinstance(outcome, Placed):
            if stays:
                self.pods.append((pod, outcome.node))
            else:
                self.cluster.forget(pod)


def give_same_luck(one: Framework, other: Framework) -> None:
    one.context.random.setstate(other.context.random.getstate())


TestCachedAgainstFresh = CachedAgainstFresh.TestCase
TestCachedAgainstFresh.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)


class Counts(Plugin):
    """Notes how it is asked."""

    row_local = True
    calls: ClassVar[list[int | str]] = []

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        self.calls.append(len(nodes))
        yield from ()

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        self.calls.append(nodes.names[row])
        yield from ()

    def signature(self, pod: Pod) -> Hashable:
        return pod.spec.priority


class CountsNodesOnly(Counts):
    """The same, for a plugin to which pods on a node do not matter."""

    name = "Counts"
    looks_at_pods = False


def calls_of(kind: type[Counts]) -> list[int | str]:
    Counts.calls.clear()
    cluster = testing.Cluster(*(testing.node(name) for name in NAMES))
    decides = testing.framework({"plugins": {"multiPoint": {"enabled": [{"name": "Counts"}]}}}, kind)
    steps: list[Callable[[], object]] = [
        lambda: None,
        lambda: None,
        lambda: cluster.place(testing.pod("there"), "node-3"),
        lambda: cluster.table.set_node(testing.node("node-5", cpu="1")),
        lambda: cluster.table.set_node(testing.node("node-9")),
        lambda: decides.plugin("Counts").handle.invalidate(),
    ]
    for step in steps:
        step()
        pod = testing.pod("p")
        decides.schedule(pod, cluster)
        cluster.forget(pod)
    decides.schedule(testing.pod("another kind", priority=5), cluster)
    return list(Counts.calls)


def test_a_plugin_that_looks_at_pods_judges_the_rows_that_changed() -> None:
    calls = calls_of(Counts)
    assert calls[0] == len(NAMES)
    assert [call for call in calls if isinstance(call, int)] == [9, 10, 10, 10]
    assert {"node-3", "node-5"} <= set(calls)


def test_a_plugin_that_does_not_look_at_pods_runs_again_when_nodes_changed() -> None:
    assert calls_of(CountsNodesOnly) == [9, 9, 10, 10, 10]


def test_a_reason_that_no_longer_holds_disappears() -> None:
    cluster = testing.Cluster(*(testing.node(name, labels={"price": "7"}) for name in NAMES))
    decides = testing.framework(PROFILE, Prices)
    assert summary(decides.schedule(testing.pod("p"), cluster))[0] == "0/9 nodes are available: 9 too dear."
    cluster.table.set_node(testing.node("node-4"))
    message = summary(decides.schedule(testing.pod("p"), cluster))[0]
    assert message == "0/9 nodes are available: 1 no price, 8 too dear."
    cluster.table.set_node(testing.node("node-4", labels={"price": "1"}))
    assert summary(decides.schedule(testing.pod("p"), cluster))[0] == "node-4"
