"""Cached counts after any sequence of changes, against upstream's rules applied anew, node by node."""

from __future__ import annotations

import pytest

from scheduler_runtime.api import SKIP
from scheduler_runtime.plugins.podtopologyspread import filtering
from scheduler_runtime.state.table import columns
from tests.scheduler_runtime.plugins.podtopologyspread.clusters import (
    Changes,
    all_nodes,
    filter_verdicts,
    scored,
    spreading,
    verdicts,
)
from tests.scheduler_runtime.plugins.podtopologyspread.naive import NaiveFilter, NaiveScore, rules_of

SEEDS = range(8)
STEPS = 40


@pytest.fixture(autouse=True, params=[0, 8], ids=["columns", "few-nodes"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels that few nodes have are looked up by these nodes, any other in a column; constraints likewise."""
    monkeypatch.setattr(columns, "_FEW_NODES", request.param)
    monkeypatch.setattr(filtering, "_FEW_CONSTRAINTS", 1 if request.param else 100)


@pytest.mark.parametrize("seed", SEEDS)
def test_filter(seed: int) -> None:
    changes, plugin = Changes(seed), spreading()
    kinds = [changes.incoming() for _ in range(10)]
    for _ in range(STEPS):
        changes.step()
        table = changes.cluster.table
        for pod in kinds:
            naive = NaiveFilter(rules_of(pod, "DoNotSchedule"), changes.cluster)
            expected = [naive.verdict(table.node(row)) for row in range(len(table))]
            assert filter_verdicts(plugin, pod, changes.cluster) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_filter_with_pods_added_and_removed(seed: int) -> None:
    changes, plugin = Changes(seed), spreading()
    kinds = [changes.incoming() for _ in range(10)]
    for _ in range(STEPS):
        changes.step()
        nodes, table = all_nodes(changes.cluster), changes.cluster.table
        for pod in kinds:
            state = plugin.pre_filter(pod, nodes, {})
            if state is SKIP:
                continue
            before = list(map(str, plugin.filter(pod, nodes, state)))
            naive, changed = NaiveFilter(rules_of(pod, "DoNotSchedule"), changes.cluster), state.copy()
            for hook, change in changes.random.choices([(plugin.add_pod, 1), (plugin.remove_pod, -1)], k=3):
                other, row = changes.pod(), changes.random.randrange(len(table))
                naive.move(other, table.node(row), change)
                changed = hook(pod, nodes, changed, other, row)
            expected = [naive.verdict(table.node(row)) for row in range(len(table))]
            assert verdicts(list(plugin.filter(pod, nodes, changed)), len(nodes)) == expected
            by_row = [list(plugin.filter_row(pod, nodes, changed, row)) for row in range(len(table))]
            assert [(rejects[0].reason, rejects[0].resolvable) if rejects else None for rejects in by_row] == expected
            assert list(map(str, plugin.filter(pod, nodes, state))) == before


@pytest.mark.parametrize("seed", SEEDS)
def test_scores(seed: int) -> None:
    changes, plugin = Changes(seed), spreading()
    kinds = [changes.incoming() for _ in range(10)]
    for _ in range(STEPS):
        changes.step()
        for pod in kinds:
            feasible, rules = changes.some_feasible(), rules_of(pod, "ScheduleAnyway")
            expected = NaiveScore(rules, changes.cluster, feasible, requires_all=True).scores() if rules else None
            assert scored(plugin, pod, changes.cluster, feasible) == expected
