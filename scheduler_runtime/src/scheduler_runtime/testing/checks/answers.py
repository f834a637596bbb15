"""Checks of answers about nodes: they repeat, hooks agree with one another, and nothing else has an influence.

A plugin that fails here decides differently from one attempt to the next, or from one scheduler to another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from scheduler_runtime.api import SKIP, NodeTable, Pod, Reject
from scheduler_runtime.framework import PluginError
from scheduler_runtime.framework.hook import collect_rejections
from scheduler_runtime.framework.what_if import WhatIf
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.testing.checks.case import Case, PluginUnderTest
from scheduler_runtime.testing.driver import (
    OUTSIDE_RESTRICT,
    Reason,
    difference,
    difference_of_reasons,
    mask_of,
    same_number,
    state_of,
)
from scheduler_runtime.testing.formatting import format_exception, shortened
from scheduler_runtime.testing.scenes import SceneChange, pod_placed, pod_removed


def order(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """Shuffling the nodes shuffles the answers, and changes nothing else.

    A node's row is an accident: it changes when nodes come and go, and from one scheduler to the next.
    """
    answers = plugin.new_driver().record(case.pod, case.cluster)
    shuffled = plugin.new_driver().record(case.pod, case.scene.shuffled(case.random).cluster())
    if words := difference(answers, shuffled):
        yield f"the order of the nodes changes its answers ({words}); let no answer depend on where a row is"


def purity(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """Two equal questions get equal answers, and hooks change neither the pod nor the cluster.

    Pods and nodes are those of the scheduler's cache: what a plugin writes into one, every other plugin reads.
    """
    driver, cluster = plugin.new_driver(), case.cluster
    answers = driver.record(case.pod, cluster)
    if words := difference(answers, driver.record(case.pod, cluster)):
        yield f"asked twice, it answers differently ({words}); its hooks must not remember pods, nor use chance"
    if changed := case.first_change():
        yield f"it changed {changed} while it was asked; hooks only read"


def states(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``filter`` and ``score`` leave the states that they get as they are.

    The framework uses a state more than once: preemption runs the filters again on the state of the failed decision,
    and the pods of one signature share that of a row-local plugin.
    """
    driver, cluster = case.driver, case.cluster
    with driver.decision(cluster) as nodes:
        answer = driver.pre_filter(case.pod, nodes)
        if isinstance(answer, Reject):
            return
        if answer is not SKIP:
            first, second = (driver.reasons(case.pod, nodes, answer) for _ in range(2))
            differences = {name: difference_of_reasons(first[name], second[name]) for name in first}
            if words := next((f"{name}: {words}" for name, words in differences.items() if words), ""):
                yield (
                    f"filter answers differently when it gets the same state again ({words}); it must leave the state "
                    "of pre_filter as it is, and pre_filter must not return a generator"
                )
        nodes, state = driver.nodes_to_score(case.pod, cluster, nodes) if plugin.has("score") else (nodes, SKIP)
        if state is SKIP:
            return
        # Copies: a plugin may return the same array twice.
        scores, scores_again = (np.array(driver.run("score", case.pod, nodes, state)) for _ in range(2))
        if (scores != scores_again)[nodes.feasible].any():
            yield "score answers differently when it gets the same state again; it must leave its state as it is"


def feasible_nodes(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """The answers of ``filter`` about a node do not depend on which other nodes are still feasible.

    Other plugins' filters run before it in some profiles and after it in others.
    """
    driver, cluster = plugin.new_driver(), case.cluster
    with driver.decision(cluster) as nodes:
        answer = driver.pre_filter(case.pod, nodes)
        if answer is SKIP or isinstance(answer, Reject):
            return
        reasons = driver.reasons(case.pod, nodes, answer)
        fewer_nodes = NodeTable(cluster.table, mask_of(nodes, _random_names(case, nodes)))
        for name, reasons_now in driver.reasons(case.pod, fewer_nodes, answer).items():
            if words := difference_of_reasons(reasons[name], reasons_now):
                yield (
                    f"filter answers differently about {name} when other plugins have rejected other nodes ({words}); "
                    "nodes.feasible only shows which rows it may leave out"
                )


def normalize_score(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``normalize_score`` looks only at the feasible nodes: the raw scores of other rows are arbitrary numbers."""
    if not plugin.has("normalize_score"):
        return
    driver, cluster = case.driver, case.cluster
    with driver.decision(cluster) as all_nodes:
        fewer_nodes = NodeTable(cluster.table, mask_of(all_nodes, _random_names(case, all_nodes)))
        nodes, state = driver.nodes_to_score(case.pod, cluster, fewer_nodes)
        if state is SKIP:
            return
        raw = np.asarray(driver.run("score", case.pod, nodes, state))
        # Larger than the score of every feasible node, so that a maximum over all rows shows.
        disturbed = np.where(nodes.feasible, raw, 2 * np.abs(raw[nodes.feasible]).max() + 1000)
        normal, other = (driver.normalize(case.pod, nodes, scores, state) for scores in (raw, disturbed))
        if (normal != other)[nodes.feasible].any():
            yield "normalize_score counts nodes that are not feasible; look at scores[nodes.feasible] alone"


def filter_row(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``filter_row`` rejects each row for the same reasons as ``filter``.

    The framework calls either of the two: ``filter_row`` where a few rows changed, and in preemption.
    """
    if not plugin.has("filter_row"):
        return
    driver, cluster = case.driver, case.cluster
    with driver.decision(cluster) as nodes:
        answer = driver.pre_filter(case.pod, nodes)
        if answer is SKIP or isinstance(answer, Reject):
            return
        reasons = driver.reasons(case.pod, nodes, state_of(answer))
        for row, name in enumerate(nodes.names):
            rejects = collect_rejections(driver.hook("filter_row"), case.pod, nodes, state_of(answer), row)
            if words := difference_of_reasons(reasons[name], _reasons_of(rejects)):
                yield (
                    f"filter_row disagrees with filter about {name} ({words}); it must yield a Reject for each reason "
                    "that holds for the row, and for no other"
                )


def score_row(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``score_row`` returns for each row the number that ``score`` has there.

    The framework calls it where a few rows changed, and compares its numbers with those that ``score`` gave to others.
    """
    if not plugin.has("score_row"):
        return
    driver = case.driver
    with driver.decision(case.cluster) as all_nodes:
        nodes, state = driver.nodes_to_score(case.pod, case.cluster, all_nodes)
        if state is SKIP:
            return
        scores = np.asarray(driver.run("score", case.pod, nodes, state))
        for row in np.flatnonzero(nodes.feasible).tolist():
            name, score = nodes.names[row], scores[row].item()
            row_score = driver.run("score_row", case.pod, nodes, state, row)
            if not same_number(score, row_score):
                yield f"score_row scores {name} {row_score}, and score {score}; both must give the same number"


def what_if(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``filter`` answers about a node with one pod more or less in a what-if as when the pod really comes or leaves.

    Preemption decides by such answers which pods to evict. Pods that are being deleted are left alone, as there.
    """
    if not plugin.has("filter"):
        return
    scene, pod = case.scene, case.random_objects.pod()
    removable = [(placed, node) for placed, node in scene.placed if not placed.metadata.deletion_timestamp]
    if not pod.metadata.deletion_timestamp:
        yield from _what_if_differences(plugin, case, pod_placed(scene, pod, case.random.choice(scene.names)))
    if removable:
        yield from _what_if_differences(plugin, case, pod_removed(scene, *case.random.choice(removable)))


def _what_if_differences(plugin: PluginUnderTest, case: Case, change: SceneChange) -> Iterator[str]:
    driver, cluster = plugin.new_driver(), case.cluster
    with driver.decision(cluster) as nodes:
        answer = driver.pre_filter(case.pod, nodes)
    after = plugin.new_driver().record(case.pod, change.scene.cluster())
    if answer is SKIP or isinstance(answer, Reject) or after.pod_rejection or after.skipped:
        return
    before = driver.record(case.pod, cluster)
    # The nodes that a Restrict leaves out are none of filter's business.
    reasons = frozenset(reason for reason in after.reasons[change.node] if reason != OUTSIDE_RESTRICT)
    states, row = {driver.name: state_of(answer)}, cluster.table.row(change.node)
    assert row is not None, change  # noqa: S101 - the node is there before and after
    with WhatIf(case.pod, cluster.table, [driver.row_filter()], states, Nominations()).trial(row) as node:
        for old, new in change.events:
            if isinstance(new, Pod):
                node.add(new)
            if isinstance(old, Pod):
                node.remove(old)
        reasons_in_what_if = _reasons_of(node.rejections())
    hook = "remove_pod" if change.events[0][0] else "add_pod"
    if words := difference_of_reasons(reasons, reasons_in_what_if):
        yield (
            f"{change.words} in a what-if, and filter answers differently about {change.node} than when the pod really "
            f"came or left ({words}); {hook} must bring the state of pre_filter up to date"
        )
    if words := difference(before, driver.record(case.pod, cluster)):
        yield f"after a what-if with {hook} it answers differently ({words}); a what-if must change nothing for good"


def filter_without_state(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """``filter`` runs without a state where ``pre_filter`` rejects a pod and evicting pods could help.

    Preemption then looks for nodes on which the other filters accept the pod, and there is no state to give.
    """
    if not plugin.has("pre_filter") or not plugin.has("filter"):
        return
    driver = case.driver
    with driver.decision(case.cluster) as nodes:
        answer = driver.pre_filter(case.pod, nodes)
        if not (isinstance(answer, Reject) and answer.resolvable is True):
            return
        try:
            driver.reasons(case.pod, nodes, None)
        except PluginError as error:
            yield (
                f'pre_filter rejected the pod ("{shortened(answer.reason)}"), and then filter fails: '
                f"{format_exception(error.__cause__ or error, plugin.kind)}; preemption calls it with None as state, "
                "unless the Reject has resolvable=False"
            )


def _random_names(case: Case, nodes: NodeTable) -> list[str]:
    return case.random.sample(list(nodes.names), case.random.randint(1, len(nodes)))


def _reasons_of(rejects: Iterable[Reject]) -> frozenset[Reason]:
    """Return the reasons for one row: every Reject that is yielded for a row counts, whatever its ``rows`` are."""
    return frozenset((reject.reason, bool(reject.resolvable), reject.pending) for reject in rejects)
