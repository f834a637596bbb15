"""Each plugin over all nodes at once, against upstream's rule written down for a single node."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime import api, config, testing, wire
from scheduler_runtime.api import Node, NodeTable, Plugin, Pod
from scheduler_runtime.catalog import IN_TREE_ARGS
from scheduler_runtime.plugins import IN_TREE

SETTINGS = settings(max_examples=25, deadline=None)

KEYS = st.sampled_from(["zone", "pool", "n"])
VALUES = st.sampled_from(["a", "b", "1", "5", "-7", "12", "x y"])
EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
TAINTS = st.builds(wire.Taint, key=KEYS, value=st.sampled_from(["", "a"]), effect=EFFECTS)
TOLERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "key": KEYS,
        "operator": st.sampled_from(["", "Equal", "Exists", "Gt"]),
        "value": st.sampled_from(["", "a"]),
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
        more = {"ephemeral_storage": "10", "example.com/gpu": "2"} if draw(st.booleans()) else {}
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


class Surroundings:
    """A handle that offers nothing but the version."""

    def __init__(self, version: str) -> None:
        self.version = version


def plugin(name: str, args: dict[str, Any] | None = None, version: str = "v1.36.4") -> Plugin:
    model = IN_TREE_ARGS.get(name)
    made: Any = IN_TREE[name](model.model_validate(args or {}, strict=False) if model else None, Surroundings(version))  # type: ignore[arg-type]
    assert isinstance(made, Plugin)
    return made


def rejections(plugin: Plugin, pod: Pod, cluster: testing.Cluster) -> dict[str, set[tuple[str, bool]]]:
    """Node to reasons, each with whether evicting pods could help."""
    table = cluster.table
    nodes = NodeTable(table, np.ones(len(table), np.bool_))
    found: dict[str, set[tuple[str, bool]]] = {name: set() for name in table.names}
    for reject in plugin.filter(pod, nodes, None):
        for row, name in enumerate(table.names):
            if reject.rows is True or reject.rows[row]:
                resolvable = reject.resolvable if isinstance(reject.resolvable, bool) else reject.resolvable[row]
                found[name].add((reject.reason, bool(resolvable)))
    return found


def scores(plugin: Plugin, pod: Pod, cluster: testing.Cluster) -> dict[str, int]:
    table = cluster.table
    nodes = NodeTable(table, np.ones(len(table), np.bool_))
    raw = plugin.score(pod, nodes, None)
    if "normalize_score" in api.hooks_of(type(plugin)):
        raw = plugin.normalize_score(pod, nodes, raw, None)
    assert raw.dtype == np.int64
    return dict(zip(table.names, raw.tolist(), strict=True))


def expected(
    cluster: testing.Cluster, rule: Callable[[Node, int], set[tuple[str, bool]]]
) -> dict[str, set[tuple[str, bool]]]:
    return {name: rule(cluster.table.node(row), row) for row, name in enumerate(cluster.table.names)}


def covered(tolerations: tuple[wire.Toleration, ...], taint: wire.Taint) -> bool:
    for each in tolerations:
        same = (not each.effect or each.effect == taint.effect) and (not each.key or each.key == taint.key)
        if same and (each.operator == "Exists" or (each.operator in ("", "Equal") and each.value == taint.value)):
            return True
    return False


@SETTINGS
@given(clusters(), pods())
def test_node_name(cluster: testing.Cluster, pod: Pod) -> None:
    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        wrong = pod.spec.node_name not in ("", node.name)
        return {("node(s) didn't match the requested node name", False)} if wrong else set()

    assert rejections(plugin("NodeName"), pod, cluster) == expected(cluster, rule)


@SETTINGS
@given(clusters(), pods())
def test_node_unschedulable(cluster: testing.Cluster, pod: Pod) -> None:
    taint = wire.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")

    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        out = node.spec.unschedulable and not covered(pod.spec.tolerations, taint)
        return {("node(s) were unschedulable", False)} if out else set()

    assert rejections(plugin("NodeUnschedulable"), pod, cluster) == expected(cluster, rule)


@SETTINGS
@given(clusters(), pods())
def test_taints_filter(cluster: testing.Cluster, pod: Pod) -> None:
    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        hard = [taint for taint in node.spec.taints if taint.effect != "PreferNoSchedule"]
        out = any(not covered(pod.spec.tolerations, taint) for taint in hard)
        return {("node(s) had untolerated taint(s)", False)} if out else set()

    assert rejections(plugin("TaintToleration"), pod, cluster) == expected(cluster, rule)


@SETTINGS
@given(clusters(), pods())
def test_taints_score(cluster: testing.Cluster, pod: Pod) -> None:
    def count(node: Node) -> int:
        soft = [taint for taint in node.spec.taints if taint.effect == "PreferNoSchedule"]
        return sum(not covered(pod.spec.tolerations, taint) for taint in soft)

    counts = {name: count(cluster.table.node(row)) for row, name in enumerate(cluster.table.names)}
    most = max(counts.values())
    wanted = {name: 100 - 100 * number // most if most else 100 for name, number in counts.items()}
    assert scores(plugin("TaintToleration"), pod, cluster) == wanted


def is_label_text(value: str) -> bool:
    return " " not in value and not value.startswith("-")


def expression_holds(requirement: wire.NodeSelectorRequirement, node: Node) -> bool | None:
    """None when upstream could not read it."""
    operator, values = requirement.operator, requirement.values
    present = requirement.key in node.labels
    value = node.labels.get(requirement.key, "")
    if not all(is_label_text(each) for each in values):
        return None
    if operator in ("In", "NotIn"):
        return None if not values else (present and value in values) == (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return None if values else present == (operator == "Exists")
    try:
        (limit,) = (int(each) for each in values)
    except ValueError:
        return None
    try:
        number = int(value)
    except ValueError:
        return False
    return number > limit if operator == "Gt" else number < limit


def term_holds(term: wire.NodeSelectorTerm, node: Node) -> bool:
    verdicts = [expression_holds(each, node) for each in term.match_expressions]
    if None in verdicts or not (term.match_expressions or term.match_fields):
        return False
    names = ((node.name in each.values) == (each.operator == "In") for each in term.match_fields)
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

    assert rejections(plugin("NodeAffinity"), pod, cluster) == expected(cluster, rule)


@SETTINGS
@given(clusters(), pods())
def test_added_node_affinity_is_judged_first(cluster: testing.Cluster, pod: Pod) -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}

    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        if "zone" not in node.labels:
            return {("node(s) didn't match scheduler-enforced node affinity", False)}
        return set() if wants(pod, node) else {("node(s) didn't match Pod's node affinity/selector", False)}

    assert rejections(plugin("NodeAffinity", args), pod, cluster) == expected(cluster, rule)


@SETTINGS
@given(clusters(), pods())
def test_node_affinity_score(cluster: testing.Cluster, pod: Pod) -> None:
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    preferred = affinity.preferred if affinity else ()

    def points(node: Node) -> int:
        return sum(each.weight for each in preferred if term_holds(each.preference, node))

    counts = {name: points(cluster.table.node(row)) for row, name in enumerate(cluster.table.names)}
    most = max(counts.values())
    wanted = {name: 100 * number // most if most else 0 for name, number in counts.items()}
    assert scores(plugin("NodeAffinity"), pod, cluster) == wanted


@SETTINGS
@given(clusters(), pods())
def test_what_an_event_promises_about_a_node_is_what_the_filter_says(cluster: testing.Cluster, pod: Pod) -> None:
    for name in ("NodeAffinity", "TaintToleration", "NodeUnschedulable"):
        judge = plugin(name)
        verdicts = rejections(judge, pod, cluster)
        for row, node_name in enumerate(cluster.table.names):
            added = api.Event("Node", api.Action.ADD, None, cluster.table.node(row))
            if name == "NodeUnschedulable" and cluster.table.node(row).spec.unschedulable:
                continue  # Upstream looks at the cordon alone there.
            assert (judge.hint(added, pod) is api.QUEUE) == (not verdicts[node_name])


def sums(cluster: testing.Cluster, row: int) -> tuple[dict[str, int], dict[str, int]]:
    """What pods on a node asked for, and what they count for in scores."""
    taken: dict[str, int] = {}
    scored = {"cpu": 0, "memory": 0}
    for pod in cluster.table.pods(row):
        for resource, amount in pod.requests.amounts.items():
            taken[resource] = taken.get(resource, 0) + amount
        scored["cpu"] += pod.requests.scored_cpu
        scored["memory"] += pod.requests.scored_memory
    return taken, {**taken, **scored}


@SETTINGS
@given(clusters(), pods(), st.booleans())
def test_fit(cluster: testing.Cluster, pod: Pod, ignored: bool) -> None:
    args = {"ignoredResources": ["example.com/gpu", "cpu"]} if ignored else {}

    def rule(node: Node, row: int) -> set[tuple[str, bool]]:
        offers, (taken, _) = wire_offers(node), sums(cluster, row)
        found: set[tuple[str, bool]] = set()
        if len(cluster.table.pods(row)) + 1 > offers.get("pods", 0):
            found.add(("Too many pods", True))
        for resource, amount in pod.requests.amounts.items():
            offered = offers.get(resource, 0)
            passed_over = ignored and resource == "example.com/gpu"  # cpu cannot be ignored: it is not extended.
            if amount > offered - taken.get(resource, 0) and amount > 0 and not passed_over:
                found.add((f"Insufficient {resource}", amount <= offered))
        return found

    assert rejections(plugin("NodeResourcesFit", args), pod, cluster) == expected(cluster, rule)


def wire_offers(node: Node) -> dict[str, int]:
    raw = node.status.allocatable or {}
    return {
        name: {"0": 0, "2": 2, "4": 4, "10": 10, "110": 110, "1Gi": 2**30, "4Gi": 2**32}[str(text)]
        * (1000 if name == "cpu" else 1)
        for name, text in raw.items()
    }


Formula = Callable[[list[tuple[int, int, int, int]]], int]


def least(loads: list[tuple[int, int, int, int]]) -> int:
    total = sum(
        weight * ((offered - asked) * 100 // offered if asked <= offered else 0) for weight, offered, _, asked in loads
    )
    return total // sum(weight for weight, *_ in loads) if loads else 0


def most(loads: list[tuple[int, int, int, int]]) -> int:
    total = sum(weight * (min(asked, offered) * 100 // offered) for weight, offered, _, asked in loads)
    return total // sum(weight for weight, *_ in loads) if loads else 0


def ratio(loads: list[tuple[int, int, int, int]]) -> int:
    def line(percent: int) -> int:
        points = [(0, 0), (30, 100), (70, 20), (100, 90)]
        for (low, start), (high, end) in itertools.pairwise(points):
            if percent <= high:
                return start + int((end - start) * (percent - low) / (high - low))
        return 90

    shares = [(weight, line(100 if asked > offered else asked * 100 // offered)) for weight, offered, _, asked in loads]
    counted = [(weight, share) for weight, share in shares if share > 0]
    weights = sum(weight for weight, _ in counted)
    return math.floor(sum(weight * share for weight, share in counted) / weights + 0.5) if weights else 0


def evenness(parts: list[tuple[int, int]]) -> int:
    degrees = [min(part / whole, 1.0) for part, whole in parts]
    deviation = 0.0
    if len(degrees) == 2:
        deviation = abs((degrees[0] - degrees[1]) / 2)
    elif len(degrees) > 2:
        mean = sum(degrees) / len(degrees)
        deviation = math.sqrt(sum((degree - mean) * (degree - mean) for degree in degrees) / len(degrees))
    return int((1 - deviation) * 100)


def improvement(loads: list[tuple[int, int, int, int]]) -> int:
    with_pod = evenness([(asked, offered) for _, offered, _, asked in loads])
    without = evenness([(taken, offered) for _, offered, taken, _ in loads])
    return 50 + (50 + with_pod - without) // 2


def naive_scores(
    cluster: testing.Cluster, asked: dict[str, int], resources: dict[str, int], formula: Formula, scored: bool
) -> dict[str, int]:
    found = {}
    for row, name in enumerate(cluster.table.names):
        offers, taken = wire_offers(cluster.table.node(row)), sums(cluster, row)[scored]
        loads = []
        for resource, weight in resources.items():
            amount = asked.get(resource, 0)
            if (amount or "/" not in resource) and offers.get(resource, 0):
                used = taken.get(resource, 0)
                loads.append((weight, offers[resource], used, used + amount))
        found[name] = formula(loads)
    return found


RESOURCES = st.dictionaries(st.sampled_from(sorted(AMOUNTS)), st.integers(1, 5), min_size=1)
RATIO = {"shape": [{"utilization": u, "score": s} for u, s in ((0, 0), (30, 10), (70, 2), (100, 9))]}


@SETTINGS
@given(clusters(), pods(), RESOURCES, st.sampled_from(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]))
def test_fit_score(cluster: testing.Cluster, pod: Pod, resources: dict[str, int], strategy: str) -> None:
    formula = {"LeastAllocated": least, "MostAllocated": most, "RequestedToCapacityRatio": ratio}[strategy]
    scoring: dict[str, Any] = {"type": strategy, "resources": [{"name": n, "weight": w} for n, w in resources.items()]}
    if strategy == "RequestedToCapacityRatio":
        scoring["requestedToCapacityRatio"] = RATIO
    wanted = naive_scores(cluster, pod.requests.pending, resources, formula, scored=True)
    assert scores(plugin("NodeResourcesFit", {"scoringStrategy": scoring}), pod, cluster) == wanted


@SETTINGS
@given(
    clusters(), pods(), st.sets(st.sampled_from(sorted(AMOUNTS)), min_size=1), st.sampled_from(["v1.35.6", "v1.36.4"])
)
def test_balance(cluster: testing.Cluster, pod: Pod, resources: set[str], version: str) -> None:
    args = {"resources": [{"name": name} for name in sorted(resources)]}

    def as_before_1_36(loads: list[tuple[int, int, int, int]]) -> int:
        return evenness([(asked, offered) for _, offered, _, asked in loads])

    formula = improvement if version == "v1.36.4" else as_before_1_36
    weights = dict.fromkeys(sorted(resources), 1)
    wanted = naive_scores(cluster, pod.requests.amounts, weights, formula, scored=False)
    assert scores(plugin("NodeResourcesBalancedAllocation", args, version), pod, cluster) == wanted


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
