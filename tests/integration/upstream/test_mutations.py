"""A plugin that is broken in one way fails a case of its own: the cases look at the plugins, not at luck."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from devcluster import Cluster
from scheduler_runtime.api import MAX_SCORE, QUEUE, SKIP, Plugin, Reject, hooks_of
from scheduler_runtime.plugins import IN_TREE
from tests.integration.upstream.batch import test_batch as batch
from tests.integration.upstream.filters import test_inter_pod_affinity as near
from tests.integration.upstream.filters import test_nodes as nodes
from tests.integration.upstream.filters import test_pod_topology_spread as spread
from tests.integration.upstream.filters import test_waking as waking
from tests.integration.upstream.plugins import test_binding as binding
from tests.integration.upstream.preemption import test_async_preemption as preempting
from tests.integration.upstream.preemption import test_budgets as budgets
from tests.integration.upstream.preemption import test_misc as misc
from tests.integration.upstream.preemption import test_preemption as preemption
from tests.integration.upstream.queueing import test_enqueue_by_node as by_node
from tests.integration.upstream.queueing import test_enqueue_by_pods as by_pods
from tests.integration.upstream.queueing import test_enqueue_by_room as by_room
from tests.integration.upstream.queueing import test_queue as queueing
from tests.integration.upstream.scheduler import test_nodes as changing
from tests.integration.upstream.scheduler import test_schedulers as schedulers
from tests.integration.upstream.scoring import test_pod_affinity as nearer
from tests.integration.upstream.scoring import test_pod_topology_spread as spreading
from tests.integration.upstream.scoring import test_resources_and_images as having
from tests.integration.upstream.scoring import test_taints as avoiding
from tests.integration.upstream.support import PATIENCE, REPLACED

pytestmark = pytest.mark.cluster

Case = Callable[..., Awaitable[None]]
Break = Callable[[type[Plugin]], dict[str, Any]]

SOON = 1.0
"""Seconds, at least, after which what a broken plugin prevents is given up."""


def rejects_nothing(kind: type[Plugin]) -> dict[str, Any]:
    return dict.fromkeys(hooks_of(kind) & {"filter", "filter_row"}, lambda *_: ())


def gates_nothing(_: type[Plugin]) -> dict[str, Any]:
    return {"pre_enqueue": lambda *_: None}


def scores_upside_down(kind: type[Plugin]) -> dict[str, Any]:
    """The best is the worst. The last to say what a node gets is turned around."""
    has = hooks_of(kind)
    names = {"normalize_score"} if "normalize_score" in has else has & {"score", "score_row"}

    def turned(original: Any) -> Any:
        return lambda *args: 100 - original(*args)

    return {name: turned(getattr(kind, name)) for name in names}


def never_wakes(kind: type[Plugin]) -> dict[str, Any]:
    return {"hint": lambda *_: SKIP}


def always_wakes(kind: type[Plugin]) -> dict[str, Any]:
    return {"hint": lambda *_: QUEUE}


def does_not_help(kind: type[Plugin]) -> dict[str, Any]:
    return {"post_filter": lambda *_: ["nothing helps"]}


def sees_no_budgets(kind: type[Plugin]) -> dict[str, Any]:
    class Blind:
        def __init__(self, handle: Any) -> None:
            self._handle = handle

        def __getattr__(self, name: str) -> Any:
            return (lambda *_: ()) if name == "list" else getattr(self._handle, name)

    return {"__init__": lambda self, args, handle: kind.__init__(self, args, Blind(handle))}


def passes_on(kind: type[Plugin]) -> dict[str, Any]:
    async def bind(*_: Any) -> Any:
        return SKIP

    return {"bind": bind}


def takes_the_last_first(kind: type[Plugin]) -> dict[str, Any]:
    return {"sort_key": lambda _, entry: (entry.pod.spec.priority, -entry.added_at)}


def wants_a_name(kind: type[Plugin]) -> dict[str, Any]:
    """A pod that names no node fits on none."""
    return dict.fromkeys(hooks_of(kind) & {"filter", "filter_row"}, lambda *_: [Reject(True, "it names no node")])


def wants_empty_nodes(_: type[Plugin]) -> dict[str, Any]:
    """A node that has pods is not for more of them, however evenly it is used."""

    def score(_self: Plugin, _pod: Any, nodes: Any, _state: Any) -> Any:
        return np.where(nodes.pod_counts == 0, MAX_SCORE, 0)

    return {"score": score, "score_row": lambda *args: score(*args[:-1]).item(args[-1])}


becomes_schedulable = waking.test_unschedulable_pod_becomes_schedulable
is_woken_by_spreading = by_pods.test_core_resource_enqueue_by_pod_topology_spread
is_woken_by_other_pods = by_pods.test_core_resource_enqueue_by_inter_pod_affinity
is_woken_by_more_room = by_room.test_core_resource_enqueue_by_resources_of_another_node

MUTATIONS: dict[Break, list[tuple[str, Case, str]]] = {
    rejects_nothing: [
        ("NodePorts", nodes.test_node_ports_filter, "port-conflict"),
        ("NodeResourcesFit", nodes.test_node_resources_filter, "insufficient"),
        ("NodeAffinity", nodes.test_node_affinity_filter, "In-does-not-match"),
        ("TaintToleration", nodes.test_taint_toleration_filter, "does-not-tolerate"),
        ("NodeDeclaredFeatures", nodes.test_node_declared_features_filter, "not-on-a-node-without"),
        ("InterPodAffinity", near.test_inter_pod_affinity, "not-matching"),
        ("PodTopologySpread", spread.test_pod_topology_spread_filter, "no-node-fits"),
        ("NodeUnschedulable", changing.test_unschedulable_nodes, ""),
    ],
    scores_upside_down: [
        ("NodeResourcesFit", having.test_node_resources_scoring, "least-allocated-with-sidecars"),
        ("NodeAffinity", having.test_node_affinity_scoring, ""),
        ("ImageLocality", having.test_image_locality_scoring, ""),
        ("TaintToleration", avoiding.test_taint_toleration_scoring, "no-toleration-for-the-taint"),
        ("InterPodAffinity", nearer.test_pod_affinity_scoring, "pod-affinity"),
        ("PodTopologySpread", spreading.test_pod_topology_spread_scoring, "~0~/1/2/3-max-skew-1"),
    ],
    never_wakes: [
        ("TaintToleration", becomes_schedulable, "node-gets-taint-removed"),
        ("NodeResourcesFit", becomes_schedulable, "other-pod-gets-deleted"),
        ("InterPodAffinity", becomes_schedulable, "pod-gets-updated-to-match-affinity"),
        ("NodeAffinity", by_node.test_core_resource_enqueue_by_node_affinity, "label-is-updated"),
        ("NodePorts", by_node.test_core_resource_enqueue_by_node_ports, "pod-with-the-port-is-deleted"),
        ("NodeUnschedulable", by_node.test_core_resource_enqueue_by_node_unschedulable, "node-is-created"),
    ],
    always_wakes: [
        ("PodTopologySpread", is_woken_by_spreading, "pod-with-matching-label-is-scheduled"),
        ("InterPodAffinity", is_woken_by_other_pods, "label-that-affinity-matches-is-added"),
        ("NodeResourcesFit", is_woken_by_more_room, "not-without-increase-in-the-requested-resources"),
    ],
    does_not_help: [
        ("DefaultPreemption", preemption.test_preemption, "basic"),
        ("DefaultPreemption", misc.test_non_preemption, "preemption-will-happen"),
    ],
    sees_no_budgets: [("DefaultPreemption", budgets.test_pdb_in_preemption, "node-without-violations-is-preferred")],
    passes_on: [("DefaultBinder", binding.test_bind_plugin, "skipped-scheduler-binds")],
    wants_a_name: [("NodeName", schedulers.test_multiple_scheduling_profiles, "")],
    wants_empty_nodes: [("NodeResourcesBalancedAllocation", batch.test_batch_scenarios, "multiple-pods-per-node")],
    gates_nothing: [("SchedulingGates", queueing.test_scheduling_gates, "one-pod-carrying-gates")],
    takes_the_last_first: [
        ("PrioritySort", preempting.test_async_preemption, "lower-priority-pod-does-not-take-the-place")
    ],
}
"""What can be broken, in which plugins, and the row of a case that fails of it."""

BROKEN = [(breaks, *case) for breaks, cases in MUTATIONS.items() for case in cases]


def row(test: Case, name: str) -> dict[str, Any]:
    """The arguments of a row of a table, by its id, and of the first row of every other table of the test."""
    arguments: dict[str, Any] = {}
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            names, params = mark.args
            selected = next((param for param in params if param.id == name), params[0])
            arguments.update(zip([names] if isinstance(names, str) else names, selected.values, strict=True))
    return arguments


async def seconds_when_sound(server: Cluster, case: Case, name: str) -> float:
    """How long a case takes with the plugins as they are: it must not fail without one that is broken."""
    began = perf_counter()
    await case(server=server, **row(case, name))
    return perf_counter() - began


@contextlib.contextmanager
def standing_in(broken: type[Plugin], patience: float) -> Iterator[None]:
    """Let ``broken`` take the place of the in-tree plugin of its name, and nobody wait for long."""
    replaced, waiting = REPLACED.set((broken,)), PATIENCE.set(patience)
    try:
        yield
    finally:
        PATIENCE.reset(waiting)
        REPLACED.reset(replaced)


@pytest.mark.parametrize(
    ("breaks", "plugin", "case", "name"),
    [pytest.param(*mutation, id=f"{mutation[1]}-{mutation[0].__name__}-{mutation[3]}") for mutation in BROKEN],
)
async def test_a_broken_plugin_fails_a_case(server: Cluster, breaks: Break, plugin: str, case: Case, name: str) -> None:
    kind = IN_TREE[plugin]
    broken = type(kind.__name__, (kind,), breaks(kind))
    patience = max(SOON, 3 * await seconds_when_sound(server, case, name))
    with standing_in(broken, patience), pytest.raises(AssertionError):
        await case(server=server, **row(case, name))


def test_every_plugin_is_broken_once() -> None:
    assert {plugin for _, plugin, *_ in BROKEN} == set(IN_TREE)


def test_the_row_that_is_to_fail_exists() -> None:
    for _, _, case, name in BROKEN:
        ids = {param.id for mark in getattr(case, "pytestmark", ()) if mark.args for param in mark.args[1]}
        assert not name or name in ids
