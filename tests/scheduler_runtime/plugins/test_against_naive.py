"""Each plugin over all nodes at once, against upstream's rule written down for a single node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime import api, config, testing
from scheduler_runtime.api import Node, Pod
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.state import objects
from tests.support.lone_plugin import lone_plugin, rejections, scores

SETTINGS = settings(max_examples=25, deadline=None)

KEYS = st.sampled_from(["zone", "pool", "n"])
VALUES = st.sampled_from(["a", "b", "1", "5", "-7", "12", "x y"])
EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
TAINT_VALUES = st.sampled_from(["", "a", "0", "7", "-3", "007", "+7", "9223372036854775807", "9223372036854775808"])
TAINTS = st.builds(objects.Taint, key=KEYS, value=TAINT_VALUES, effect=EFFECTS)
TOLERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "key": KEYS,
        "operator": st.sampled_from(["", "Equal", "Exists", "Gt", "Lt", "Near"]),
        "value": TAINT_VALUES,
        "effect": EFFECTS,
    },
)
EXPRESSIONS = st.fixed_dictionaries(
    {
        "key": KEYS,
        "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
        "values": st.lists(VALUES, max_size=2),
    }
)
FIELDS = st.fixed_dictionaries(
    {
        "key": st.just("metadata.name"),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": st.lists(st.sampled_from(["node-0", "node-1", "elsewhere"]), min_size=1, max_size=1),
    }
)
TERMS = st.fixed_dictionaries(
    {}, optional={"matchExpressions": st.lists(EXPRESSIONS, max_size=2), "matchFields": st.lists(FIELDS, max_size=2)}
)
AMOUNTS = {
    "cpu": st.sampled_from(["0", "100m", "1", "1500m", "3"]),
    "memory": st.sampled_from(["0", "1Mi", "700Mi", "3Gi"]),
    "ephemeral-storage": st.sampled_from(["0", "5"]),
    "example.com/gpu": st.sampled_from(["0", "1", "2"]),
}
REQUESTS = st.fixed_dictionaries({}, optional=AMOUNTS)


@st.composite
def clusters(draw: st.DrawFn) -> testing.Cluster:
    """Up to four nodes of all kinds, with pods on them."""
    cluster = testing.Cluster()
    for number in range(draw(st.integers(1, 4))):
        more: dict[str, Any] = {"ephemeral_storage": "10", "example.com/gpu": "2"} if draw(st.booleans()) else {}
        cluster.table.set_node(
            testing.node(
                f"node-{number}",
                cpu=draw(st.sampled_from(["0", "2", "4"])),
                memory=draw(st.sampled_from(["0", "1Gi", "4Gi"])),
                pods=draw(st.sampled_from(["0", "2", "110"])),
                labels=draw(st.dictionaries(KEYS, VALUES)),
                taints=draw(st.lists(TAINTS, max_size=2)),
                unschedulable=draw(st.booleans()),
                **more,
            )
        )
        for index, requests in enumerate(draw(st.lists(REQUESTS, max_size=2))):
            cluster.place(testing.pod(f"pod-{number}-{index}", requests), f"node-{number}")
    return cluster


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """A pod with some of everything that the plugins look at."""
    spec: dict[str, Any] = {"tolerations": draw(st.lists(TOLERATIONS, max_size=3))}
    if draw(st.booleans()):
        spec["nodeSelector"] = draw(st.dictionaries(KEYS, VALUES, max_size=2))
    affinity: dict[str, Any] = {}
    if draw(st.booleans()):
        terms = {"nodeSelectorTerms": draw(st.lists(TERMS, max_size=3))}
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = terms
    if draw(st.booleans()):
        preferred = st.fixed_dictionaries({"weight": st.integers(0, 100), "preference": TERMS})
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = draw(st.lists(preferred, max_size=3))
    if draw(st.booleans()):
        spec["nodeName"] = draw(st.sampled_from(["node-0", "elsewhere"]))
    return testing.pod("incoming", draw(REQUESTS), affinity={"nodeAffinity": affinity}, **spec)


COMPARISON = "TaintTolerationComparisonOperators"


def expected(
    cluster: testing.Cluster, rule: Callable[[Node, int], set[tuple[str, bool]]]
) -> dict[str, set[tuple[str, bool]]]:
    return {name: rule(cluster.table.node(row), row) for row, name in enumerate(cluster.table.names)}


def number(text: str) -> int | None:
    plain = text.removeprefix("-").isdigit() and str(int(text)) == text
    return int(text) if plain and -(2**63) <= int(text) < 2**63 else None


def covered(tolerations: tuple[objects.Toleration, ...], taint: objects.Taint, comparing: bool = False) -> bool:
    for one in tolerations:
        if (one.effect and one.effect != taint.effect) or (one.key and one.key != taint.key):
            continue
        if one.operator == "Exists" or (one.operator in ("", "Equal") and one.value == taint.value):
            return True
        if comparing and one.operator in ("Gt", "Lt") and is_beyond(one, taint):
            return True
    return False


def is_beyond(toleration: objects.Toleration, taint: objects.Taint) -> bool:
    limit, value = number(toleration.value), number(taint.value)
    if limit is None or value is None:
        return False
    return value > limit if toleration.operator == "Gt" else value < limit


def untolerated(pod: Pod) -> str:
    for index, toleration in enumerate(pod.spec.tolerations):
        if toleration.operator == "Near":
            problem = f"spec.tolerations[{index}].operator: 'Near' is not one of Equal, Exists, Gt and Lt"
            return f"node(s) had untolerated taint(s) ({problem}, so it tolerates nothing)"
    return "node(s) had untolerated taint(s)"


@SETTINGS
@given(clusters(), pods())
def test_node_name(cluster: testing.Cluster, pod: Pod) -> None:
    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        wrong = pod.spec.node_name not in ("", node.name)
        return {("node(s) didn't match the requested node name", False)} if wrong else set()

    assert rejections(lone_plugin("NodeName"), pod, cluster) == expected(cluster, rule)


@SETTINGS
@given(clusters(), pods())
def test_node_unschedulable(cluster: testing.Cluster, pod: Pod) -> None:
    taint = objects.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")

    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        out = node.spec.unschedulable and not covered(pod.spec.tolerations, taint)
        return {("node(s) were unschedulable", False)} if out else set()

    assert rejections(lone_plugin("NodeUnschedulable"), pod, cluster) == expected(cluster, rule)


@SETTINGS
@given(clusters(), pods(), st.booleans())
def test_taints_filter(cluster: testing.Cluster, pod: Pod, comparing: bool) -> None:
    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        hard = [taint for taint in node.spec.taints if taint.effect != "PreferNoSchedule"]
        out = any(not covered(pod.spec.tolerations, taint, comparing) for taint in hard)
        return {(untolerated(pod), False)} if out else set()

    assert rejections(lone_plugin("TaintToleration", gates={COMPARISON: comparing}), pod, cluster) == expected(
        cluster, rule
    )


@SETTINGS
@given(clusters(), pods(), st.booleans())
def test_taints_score(cluster: testing.Cluster, pod: Pod, comparing: bool) -> None:
    def count(node: Node) -> int:
        soft = [taint for taint in node.spec.taints if taint.effect == "PreferNoSchedule"]
        return sum(not covered(pod.spec.tolerations, taint, comparing) for taint in soft)

    counts = {name: count(cluster.table.node(row)) for row, name in enumerate(cluster.table.names)}
    most = max(counts.values())
    expected = {name: 100 - 100 * number // most if most else 100 for name, number in counts.items()}
    assert scores(lone_plugin("TaintToleration", gates={COMPARISON: comparing}), pod, cluster) == expected


def is_label_text(value: str) -> bool:
    return " " not in value and not value.startswith("-")


def expression_holds(requirement: objects.NodeSelectorRequirement, node: Node) -> bool | None:
    """None when upstream could not read it."""
    operator, values = requirement.operator, requirement.values
    present = requirement.key in node.labels
    value = node.labels.get(requirement.key, "")
    if not all(is_label_text(value) for value in values):
        return None
    if operator in ("In", "NotIn"):
        return None if not values else (present and value in values) == (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return None if values else present == (operator == "Exists")
    try:
        (limit,) = (int(value) for value in values)
    except ValueError:
        return None
    try:
        number = int(value)
    except ValueError:
        return False
    return number > limit if operator == "Gt" else number < limit


def term_holds(term: objects.NodeSelectorTerm, node: Node) -> bool:
    verdicts = [expression_holds(requirement, node) for requirement in term.match_expressions]
    if None in verdicts or not (term.match_expressions or term.match_fields):
        return False
    names = ((node.name in requirement.values) == (requirement.operator == "In") for requirement in term.match_fields)
    return all(verdicts) and all(names)


def wants(pod: Pod, node: Node) -> bool:
    if any(node.labels.get(key) != value for key, value in (pod.spec.node_selector or {}).items()):
        return False
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    if not affinity or affinity.required is None:
        return True
    return any(term_holds(term, node) for term in affinity.required.node_selector_terms)


@SETTINGS
@given(clusters(), pods())
def test_node_affinity_filter(cluster: testing.Cluster, pod: Pod) -> None:
    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        return set() if wants(pod, node) else {("node(s) didn't match Pod's node affinity/selector", False)}

    assert rejections(lone_plugin("NodeAffinity"), pod, cluster) == expected(cluster, rule)


@SETTINGS
@given(clusters(), pods())
def test_added_node_affinity_is_judged_first(cluster: testing.Cluster, pod: Pod) -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}

    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        if "zone" not in node.labels:
            return {("node(s) didn't match scheduler-enforced node affinity", False)}
        return set() if wants(pod, node) else {("node(s) didn't match Pod's node affinity/selector", False)}

    assert rejections(lone_plugin("NodeAffinity", args), pod, cluster) == expected(cluster, rule)


@SETTINGS
@given(clusters(), pods())
def test_node_affinity_score(cluster: testing.Cluster, pod: Pod) -> None:
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    preferred = affinity.preferred if affinity else ()

    def points(node: Node) -> int:
        return sum(weighted.weight for weighted in preferred if term_holds(weighted.preference, node))

    counts = {name: points(cluster.table.node(row)) for row, name in enumerate(cluster.table.names)}
    most = max(counts.values())
    expected = {name: 100 * number // most if most else 0 for name, number in counts.items()}
    assert scores(lone_plugin("NodeAffinity"), pod, cluster) == expected


@SETTINGS
@given(clusters(), pods())
def test_what_an_event_promises_about_a_node_is_what_the_filter_says(cluster: testing.Cluster, pod: Pod) -> None:
    for name in ("NodeAffinity", "TaintToleration", "NodeUnschedulable"):
        judge = lone_plugin(name)
        verdicts = rejections(judge, pod, cluster)
        for row, node_name in enumerate(cluster.table.names):
            added = api.Event("Node", api.Action.ADD, None, cluster.table.node(row))
            if name == "NodeUnschedulable" and cluster.table.node(row).spec.unschedulable:
                continue  # Upstream looks at the cordon alone there.
            assert (judge.hint(added, pod) is api.QUEUE) == (not verdicts[node_name])


@pytest.mark.parametrize("name", sorted(IN_TREE))
def test_every_plugin_has_what_it_declares(name: str) -> None:
    declaration = IN_TREE[name].declaration
    assert declaration is not None
    assert api.hooks_of(IN_TREE[name]) == frozenset(declaration.hooks)


def test_the_default_points_are_those_of_a_profile() -> None:
    """The names above are the ones a profile enables; a renamed plugin would silently be left out."""
    profile = testing.framework().profile
    assert isinstance(profile, config.EffectiveProfile)
    assert set(IN_TREE) <= set(profile.names)
