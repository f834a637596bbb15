"""Clusters full of pods that want each other near or far, and the plugin at work on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
from hypothesis import strategies as st

from scheduler_runtime import testing
from scheduler_runtime.api import Handle, Node, NodeTable, Pod, Reject
from scheduler_runtime.catalog.args import InterPodAffinityArgs
from scheduler_runtime.plugins.interpodaffinity import InterPodAffinity
from scheduler_runtime.state.table import columns
from tests.scheduler_runtime.plugins.interpodaffinity.naive import World

HOSTNAME = "kubernetes.io/hostname"
VERSIONS = st.sampled_from(["v1.35.4", "v1.36.4", "v1.37.1"])

_KEYS = st.sampled_from(["app", "tier"])
_VALUES = st.sampled_from(["a", "b"])
_NAMES = st.sampled_from(["default", "default", "red", "blue"])
_EXPRESSIONS = st.one_of(
    st.fixed_dictionaries(
        {"key": _KEYS, "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(_VALUES, min_size=1)}
    ),
    st.fixed_dictionaries({"key": _KEYS, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
_LABELLED = st.fixed_dictionaries({"matchLabels": st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=1)})
_SELECTORS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    _LABELLED, st.just({}), st.fixed_dictionaries({"matchExpressions": st.lists(_EXPRESSIONS, min_size=1, max_size=2)})
)
_TOPOLOGY_KEYS = st.sampled_from(["zone", HOSTNAME, "rack"])
_TERMS = st.fixed_dictionaries(
    {
        "topologyKey": _TOPOLOGY_KEYS,
        "labelSelector": st.one_of(_LABELLED, _SELECTORS, st.none()),
    },
    optional={"namespaces": st.lists(_NAMES, max_size=2), "namespaceSelector": _SELECTORS},
)
_KIND = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.lists(_TERMS, min_size=1, max_size=2),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
            st.fixed_dictionaries({"weight": st.integers(1, 100), "podAffinityTerm": _TERMS}), min_size=1, max_size=2
        ),
    },
)
_AFFINITY = st.one_of(
    st.fixed_dictionaries({"podAffinity": _KIND}),
    st.fixed_dictionaries({"podAntiAffinity": _KIND}),
    st.fixed_dictionaries({"podAffinity": _KIND, "podAntiAffinity": _KIND}),
    st.just({}),
)


def pod(name: str, labels: Mapping[str, str] | None = None, namespace: str = "default", **spec: Any) -> Pod:
    """A pod with labels, in a namespace."""
    plain = testing.pod(name, **spec)
    metadata = msgspec.structs.replace(plain.metadata, labels=dict(labels or {}), namespace=namespace)
    return msgspec.structs.replace(plain, metadata=metadata)


def term(key: str = HOSTNAME, **labels: str) -> dict[str, Any]:
    """A term that speaks of the pods with these labels in its owner's namespace."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def required(kind: str, *terms: Mapping[str, Any]) -> dict[str, Any]:
    """The ``affinity`` of a pod: ``podAffinity`` or ``podAntiAffinity``."""
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def preferred(kind: str, weight: int, *terms: Mapping[str, Any]) -> dict[str, Any]:
    """The ``affinity`` of a pod that would rather."""
    weighted = [{"weight": weight, "podAffinityTerm": raw_term} for raw_term in terms]
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


@st.composite
def pods(draw: st.DrawFn, name: str = "incoming") -> Pod:
    labels = draw(st.one_of(st.dictionaries(_KEYS, _VALUES, min_size=1), st.just({})))
    same = {"labelSelector": {"matchLabels": labels}, "topologyKey": draw(_TOPOLOGY_KEYS)}
    alike = st.sampled_from(["podAffinity", "podAntiAffinity"]).map(lambda kind: required(kind, same))
    return pod(name, labels, draw(_NAMES), affinity=draw(alike | _AFFINITY))


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    labels = st.fixed_dictionaries({}, optional={"zone": _VALUES, "rack": _VALUES})
    return testing.node(name, labels=draw(labels))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Up to four nodes with up to three pods each; a namespace may not be known yet."""
    number = draw(st.sampled_from([3, 4, 2, 1]))
    drawn = [draw(nodes(f"node-{index}")) for index in range(number)]
    placed = [
        (draw(pods(f"pod-{index}-{place}")), node)
        for index, node in enumerate(drawn)
        for place in range(draw(st.sampled_from([2, 3, 1, 0])))
    ]
    labelled = st.dictionaries(_KEYS, _VALUES, min_size=1)
    namespaces = draw(st.fixed_dictionaries({"default": labelled}, optional={"red": labelled, "blue": labelled}))
    return World(tuple(drawn), tuple(placed), namespaces, draw(VERSIONS))


def cluster_of(world: World) -> testing.Cluster:
    # Labels that few nodes have are looked up by these nodes, any other in a column: in half of the worlds all are.
    with patch.object(columns, "_FEW_NODES", 8 * (len(world.placed) % 2)):
        cluster = testing.Cluster(*world.nodes)
    for pod, node in world.placed:
        cluster.place(pod, node.name)
    return cluster


def objects_of(namespaces: Mapping[str, Mapping[str, str]]) -> testing.Objects:
    return testing.Objects(*(namespace(name, labels) for name, labels in namespaces.items()))


def namespace(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels)}}


class _Handle:
    """A handle that offers a version and namespaces."""

    def __init__(self, version: str, objects: testing.Objects) -> None:
        self.version = version
        self.find, self.list, self.revision = objects.find, objects.list, objects.revision


def plugin(version: str = "v1.36.4", objects: testing.Objects | None = None, **args: Any) -> InterPodAffinity:
    handle: Any = _Handle(version, objects or testing.Objects())
    typed: Handle = handle
    return InterPodAffinity(InterPodAffinityArgs.model_validate(args), typed)


def table_of(cluster: testing.Cluster) -> NodeTable:
    return NodeTable(cluster.table, np.ones(len(cluster.table), np.bool_))


def by_node(nodes: NodeTable, rejects: Iterable[Reject]) -> dict[str, list[tuple[str, bool]]]:
    """For each node why it is rejected, each time with whether evicting pods could help."""
    reasons: dict[str, list[tuple[str, bool]]] = {name: [] for name in nodes.names}
    for reject in rejects:
        for row, name in enumerate(nodes.names):
            if reject.rows is True or reject.rows[row]:
                reasons[name].append((reject.reason, bool(reject.resolvable)))
    return reasons
