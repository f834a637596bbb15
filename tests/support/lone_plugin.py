"""One in-tree plugin without a framework around it, and what it says of each node."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from scheduler_runtime import api, testing
from scheduler_runtime.api import NodeTable, Plugin, Pod
from scheduler_runtime.catalog import IN_TREE_ARGS, Target
from scheduler_runtime.plugins import IN_TREE

Reasons = set[tuple[str, bool]]
"""Why a node is rejected, each with whether evicting pods could help."""
_NONE: Mapping[str, Any] = MappingProxyType({})


class _Surroundings:
    """A handle that offers nothing but the version and its gates."""

    def __init__(self, version: str, gates: Mapping[str, bool]) -> None:
        self.version = version
        self.enabled = Target.parse(version, gates).enabled


def lone_plugin(
    name: str, args: Mapping[str, Any] = _NONE, version: str = "v1.36.4", gates: Mapping[str, bool] = _NONE
) -> Plugin:
    """The in-tree plugin called ``name``, as of a version of Kubernetes."""
    model = IN_TREE_ARGS.get(name)
    handle: Any = _Surroundings(version, gates)
    return IN_TREE[name](model.model_validate(args, strict=False) if model else None, handle)


def every(cluster: testing.Cluster) -> NodeTable:
    """All nodes, each of them in play."""
    return NodeTable(cluster.table, np.ones(len(cluster.table), np.bool_))


def rejections(plugin: Plugin, pod: Pod, cluster: testing.Cluster) -> dict[str, Reasons]:
    """Node to reasons. Asserts that ``filter_row`` says the same as ``filter``, with its state and without."""
    nodes = every(cluster)
    state = _filter_state(plugin, pod, nodes)
    reasons = _by_all(plugin, pod, nodes, state)
    assert _by_row(plugin, pod, nodes, state) == reasons
    assert _by_all(plugin, pod, nodes, None) == reasons
    assert _by_row(plugin, pod, nodes, None) == reasons
    return reasons


def _by_all(plugin: Plugin, pod: Pod, nodes: NodeTable, state: Any) -> dict[str, Reasons]:
    reasons: dict[str, Reasons] = {name: set() for name in nodes.names}
    for reject in plugin.filter(pod, nodes, state):
        resolvable = np.broadcast_to(reject.resolvable, len(nodes))
        for row in np.flatnonzero(np.broadcast_to(reject.rows, len(nodes))).tolist():
            reasons[nodes.names[row]].add((reject.reason, bool(resolvable[row])))
    return reasons


def _by_row(plugin: Plugin, pod: Pod, nodes: NodeTable, state: Any) -> dict[str, Reasons]:
    return {
        name: {(reject.reason, bool(reject.resolvable)) for reject in plugin.filter_row(pod, nodes, state, row)}
        for row, name in enumerate(nodes.names)
    }


def scores(plugin: Plugin, pod: Pod, cluster: testing.Cluster) -> dict[str, int]:
    """Node to normalised score. Asserts that ``score_row`` says the same as ``score``, with its state and without."""
    nodes, hooks = every(cluster), api.hooks_of(type(plugin))
    answer = plugin.pre_score(pod, nodes, {}) if "pre_score" in hooks else None
    state = None if answer is api.SKIP else answer
    raw = plugin.score(pod, nodes, state)
    assert raw.tolist() == plugin.score(pod, nodes, None).tolist()
    if "score_row" in hooks:
        assert raw.tolist() == [plugin.score_row(pod, nodes, state, row) for row in range(len(nodes))]
        assert raw.tolist() == [plugin.score_row(pod, nodes, None, row) for row in range(len(nodes))]
    if "normalize_score" in hooks:
        raw = plugin.normalize_score(pod, nodes, raw, state)
    assert raw.dtype == np.int64
    return dict(zip(nodes.names, raw.tolist(), strict=True))


def _filter_state(plugin: Plugin, pod: Pod, nodes: NodeTable) -> Any:
    if "pre_filter" not in api.hooks_of(type(plugin)):
        return None
    answer = plugin.pre_filter(pod, nodes, {})
    if answer is api.SKIP or isinstance(answer, api.Reject):
        return None
    return answer.state if isinstance(answer, api.Restrict) else answer
