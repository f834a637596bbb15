"""Events that bring back a pod that affinity rejected."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import QUEUE, SKIP, Action, Event, Node, Pod
from scheduler_runtime.state.objects import PodStatus
from tests.scheduler_runtime.plugins.interpodaffinity.clusters import objects_of, plugin, pod, required, table_of, term

AWAY_FROM_X = required("podAntiAffinity", term("zone", app="x"))
NEAR_X = pod("p", affinity=required("podAffinity", term("zone", app="x")))
FAR_FROM_X = pod("p", affinity=AWAY_FROM_X)
NEAR_BOTH = pod("p", affinity=required("podAffinity", term("zone", app="x"), term("zone", tier="y")))
FAR_FROM_BOTH = pod("p", affinity=required("podAntiAffinity", term("zone", app="x"), term("zone", tier="y")))
FAR_BY_TWO_KEYS = pod("p", affinity=required("podAntiAffinity", term("zone", app="x"), term("rack", tier="y")))
AMONG_X = pod("p", {"app": "x"}, affinity=required("podAffinity", term("zone", app="x")))
PLAIN_X = pod("p", {"app": "x"})


def placed(labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    return pod("other", labels, nodeName="node", **spec)


def helps(waiting: Pod, old: Node | Pod | None, new: Node | Pod | None) -> bool:
    resource = "Pod" if isinstance(new or old, Pod) else "Node"
    return plugin().hint(Event(resource, Action.UPDATE, old, new), waiting) is QUEUE


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(NEAR_X, None, placed({"app": "x"}), True, id="a-wanted-pod-came"),
        pytest.param(NEAR_X, None, pod("other", {"app": "x"}), False, id="it-is-on-no-node"),
        pytest.param(NEAR_X, None, placed({"app": "z"}), False, id="another-came"),
        pytest.param(NEAR_X, placed(), placed({"app": "x"}), True, id="a-pod-became-a-wanted-one"),
        pytest.param(NEAR_X, pod("other"), pod("other", {"app": "x"}), False, id="it-became-one-on-no-node"),
        pytest.param(NEAR_X, placed({"app": "x", "a": ""}), placed({"app": "x"}), False, id="it-was-one-already"),
        pytest.param(NEAR_X, placed({"app": "x"}), placed(), False, id="it-no-longer-is"),
        pytest.param(NEAR_X, placed({"app": "x"}), None, False, id="a-wanted-pod-went"),
        pytest.param(AMONG_X, placed({"app": "x"}), None, True, id="perhaps-the-last-of-its-kind-went"),
        pytest.param(NEAR_BOTH, None, placed({"app": "x"}), False, id="one-of-two-terms-selects-it"),
        pytest.param(NEAR_BOTH, placed({"app": "x"}), placed({"app": "x", "tier": "y"}), True, id="now-both-do"),
        pytest.param(FAR_FROM_X, placed({"app": "x"}), placed(), True, id="an-unwanted-pod-became-another"),
        pytest.param(FAR_FROM_X, placed(), placed({"app": "x"}), False, id="a-pod-became-an-unwanted-one"),
        pytest.param(FAR_FROM_X, placed({"app": "x"}), None, True, id="an-unwanted-pod-went"),
        pytest.param(FAR_FROM_X, placed(), None, False, id="another-went"),
        pytest.param(FAR_FROM_X, pod("other", {"app": "x"}), None, False, id="it-was-on-no-node"),
        pytest.param(FAR_FROM_BOTH, placed({"app": "x"}), None, True, id="one-of-two-terms-is-enough"),
        pytest.param(FAR_FROM_BOTH, placed({"app": "x"}), placed({"tier": "y"}), False, id="unwanted-as-before"),
        pytest.param(FAR_FROM_BOTH, placed({"app": "x"}), placed({"tier": "z"}), True, id="not-unwanted-any-more"),
        pytest.param(
            FAR_BY_TWO_KEYS, placed({"app": "x", "tier": "y"}), placed({"app": "x"}), True, id="not-by-this-key"
        ),
        pytest.param(PLAIN_X, placed(affinity=AWAY_FROM_X), None, True, id="one-that-kept-it-away-went"),
        pytest.param(PLAIN_X, placed(affinity=AWAY_FROM_X), placed(), False, id="one-that-keeps-it-away-changed"),
        pytest.param(pod("p"), placed(affinity=AWAY_FROM_X), None, False, id="one-that-keeps-others-away-went"),
    ],
)
def test_pods(waiting: Pod, old: Pod | None, new: Pod | None, expected: bool) -> None:
    assert helps(waiting, old, new) is expected


def test_a_nominated_pod_counts_as_placed() -> None:
    nominated = msgspec.structs.replace(pod("other", {"app": "x"}), status=PodStatus(nominated_node_name="node"))
    assert helps(FAR_FROM_X, nominated, None)


def test_labels_of_its_own_always_help() -> None:
    assert helps(PLAIN_X, PLAIN_X, pod("p", {"app": "y"}))


def node(**labels: str) -> Node:
    return testing.node("node", labels=labels)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(NEAR_X, None, node(zone="a"), True, id="near-a-node-with-the-key-came"),
        pytest.param(NEAR_X, None, node(), False, id="near-a-node-without-the-key-came"),
        pytest.param(NEAR_X, node(a="a"), node(a="b"), False, id="near-another-label-changed"),
        pytest.param(NEAR_X, node(zone="a"), node(zone="a", b=""), False, id="near-another-label-was-added"),
        pytest.param(NEAR_X, node(zone="a"), node(zone="b"), True, id="near-the-value-changed"),
        pytest.param(NEAR_X, node(), node(zone="a"), True, id="near-the-key-was-added"),
        pytest.param(NEAR_X, node(zone="a"), node(), False, id="near-the-key-was-removed"),
        pytest.param(FAR_FROM_X, None, node(zone="a"), True, id="far-a-node-with-the-key-came"),
        pytest.param(FAR_FROM_X, None, node(), True, id="far-a-node-without-the-key-came"),
        pytest.param(FAR_FROM_X, node(zone="a"), node(zone="a", b=""), False, id="far-another-label-was-added"),
        pytest.param(FAR_FROM_X, node(zone="a"), node(zone="b"), True, id="far-the-value-changed"),
        pytest.param(FAR_FROM_X, node(), node(zone="a"), False, id="far-the-key-was-added"),
        pytest.param(FAR_FROM_X, node(zone="a"), node(), True, id="far-the-key-was-removed"),
        pytest.param(PLAIN_X, None, node(), True, id="others-keep-it-away-a-node-came"),
        pytest.param(PLAIN_X, node(zone="a"), node(zone="b"), False, id="nobody-keeps-it-away-by-the-label"),
    ],
)
def test_nodes(waiting: Pod, old: Node | None, new: Node, expected: bool) -> None:
    assert helps(waiting, old, new) is expected


def test_a_label_by_which_others_keep_a_pod_away_counts() -> None:
    judge, cluster = plugin(), testing.Cluster(node(zone="a"))
    cluster.place(placed(affinity=AWAY_FROM_X), "node")
    assert judge.pre_filter(PLAIN_X, table_of(cluster), {}) is not SKIP
    for old, new, expected in ((node(zone="a"), node(zone="b"), QUEUE), (node(rack="a"), node(rack="b"), SKIP)):
        assert judge.hint(Event("Node", Action.UPDATE_NODE_LABEL, old, new), PLAIN_X) is expected


def test_where_others_keep_pods_away_by_many_labels_any_of_them_counts() -> None:
    decides = plugin()
    decides._remember_keys(f"key-{number}" for number in range(1000))
    decides._remember_keys(["one-more"])
    assert decides._keys_of_others is None
    assert decides.hint(Event("Node", Action.UPDATE, node(rack="a"), node(rack="b")), PLAIN_X) is QUEUE
    assert decides.hint(Event("Node", Action.UPDATE, node(), node(rack="b")), PLAIN_X) is SKIP


def test_namespaces_that_a_term_selects_count() -> None:
    pod_term = {**term("zone", app="x"), "namespaceSelector": {"matchLabels": {"team": "t"}}}
    judge = plugin("v1.37.1", objects_of({"red": {"team": "t"}, "blue": {}}))
    waiting = pod("p", affinity=required("podAffinity", pod_term))
    for name, expected in (("red", QUEUE), ("blue", SKIP), ("default", SKIP)):
        came = pod("other", {"app": "x"}, name, nodeName="node")
        assert judge.hint(Event("Pod", Action.ADD, None, came), waiting) is expected


def test_nothing_helps_a_pod_whose_terms_cannot_be_read() -> None:
    broken = {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}
    assert not helps(pod("p", affinity=required("podAffinity", broken)), None, placed())
    assert not helps(PLAIN_X, placed(affinity=required("podAntiAffinity", broken)), None)
