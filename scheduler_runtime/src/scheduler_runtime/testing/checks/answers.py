"""What holds for the answers of every plugin: their order, their purity, their range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scheduler_runtime.api import SKIP, NodeTable, Reject
from scheduler_runtime.testing.checks.case import Case
from scheduler_runtime.testing.driver import Asked, mask_of
from scheduler_runtime.testing.plugin_under_test import PluginUnderTest
from scheduler_runtime.testing.recorded_answers import difference, difference_of_reasons


def order(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """Shuffling the nodes shuffles the answers, and nothing else."""
    one = subject.fresh().about_pod(case.pod, case.cluster)
    other = subject.fresh().about_pod(case.pod, case.scene.shuffled(case.chance.random).cluster())
    if words := difference(one, other):
        yield f"the order of the nodes changes its answers ({words}); let no answer depend on where a row is"


def purity(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """Asking twice gives the same answer and changes nothing."""
    asked, cluster = subject.fresh(), case.cluster
    one = asked.about_pod(case.pod, cluster)
    if words := difference(one, asked.about_pod(case.pod, cluster)):
        yield f"asked twice, it answers differently ({words}); its hooks must not remember pods, nor use chance"
    if changed := case.changed():
        yield f"it changed {changed} while it was asked; hooks only read"


def states(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """Hooks leave the states they are given as they are."""
    asked, cluster = case.asked, case.cluster
    with asked.about(cluster) as nodes:
        state = asked.filter_state(case.pod, nodes)
        if isinstance(state, Reject):
            return
        if state is not SKIP and (words := _filters_differently(asked, case, nodes, state)):
            yield (
                f"filter answers differently when it gets the same state again ({words}); it must leave the state of "
                "pre_filter as it is, and pre_filter must not return a generator"
            )
        nodes, scoring = asked.to_be_scored(case.pod, cluster, nodes) if subject.has("score") else (nodes, SKIP)
        if scoring is not SKIP and _scores_differently(asked, case, nodes, scoring):
            yield "score answers differently when it gets the same state again; it must leave its state as it is"


def in_play(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """What filter says of a node does not depend on which other nodes are still in play."""
    asked, cluster = subject.fresh(), case.cluster
    with asked.about(cluster) as nodes:
        state = asked.filter_state(case.pod, nodes)
        if state is SKIP or isinstance(state, Reject):
            return
        everywhere = asked.reasons(case.pod, nodes, state)
        some = NodeTable(cluster.table, mask_of(nodes, _some(case, nodes)))
        for name, found in asked.reasons(case.pod, some, state).items():
            if words := difference_of_reasons(everywhere[name], found):
                yield (
                    f"filter says something else of {name} when other plugins have rejected other nodes ({words}); "
                    "nodes.feasible only tells which rows it need not look at"
                )


def normalising(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """``normalize_score`` looks only at the nodes in play."""
    if not subject.has("normalize_score"):
        return
    asked, cluster = case.asked, case.cluster
    with asked.about(cluster) as every:
        some = NodeTable(cluster.table, mask_of(every, _some(case, every)))
        nodes, scoring = asked.to_be_scored(case.pod, cluster, some)
        if scoring is SKIP:
            return
        raw = np.asarray(asked("score", case.pod, nodes, scoring))
        disturbed = np.where(nodes.feasible, raw, 2 * np.abs(raw[nodes.feasible]).max() + 1000)
        one, other = (asked.normalised(case.pod, nodes, each, scoring) for each in (raw, disturbed))
        if (one != other)[nodes.feasible].any():
            yield "normalize_score counts nodes that are not in play; look at scores[nodes.feasible] alone"


def _some(case: Case, nodes: NodeTable) -> list[str]:
    return case.chance.random.sample(list(nodes.names), case.chance.random.randint(1, len(nodes)))


def _filters_differently(asked: Asked, case: Case, nodes: NodeTable, state: Any) -> str:
    one, other = (asked.reasons(case.pod, nodes, state) for _ in range(2))
    changed = (difference_of_reasons(one[name], other[name]) for name in one)
    return next((f"{name}: {words}" for name, words in zip(one, changed, strict=True) if words), "")


def _scores_differently(asked: Asked, case: Case, nodes: NodeTable, state: Any) -> bool:
    one, other = (np.array(asked("score", case.pod, nodes, state)) for _ in range(2))
    return bool((one != other)[nodes.feasible].any())
