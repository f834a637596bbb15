"""Hooks that say the same in another way: one row at a time, or with a pod more or less."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from scheduler_runtime.api import SKIP, Pod, Reject
from scheduler_runtime.framework import PluginError
from scheduler_runtime.framework.hook_answers import collect_rejections
from scheduler_runtime.framework.what_if import WhatIf
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.testing.builders import Cluster
from scheduler_runtime.testing.checks.case import Case
from scheduler_runtime.testing.driver import ELSEWHERE, Asked, unrestricted
from scheduler_runtime.testing.formatting import shortened, told
from scheduler_runtime.testing.plugin_under_test import PluginUnderTest
from scheduler_runtime.testing.recorded_answers import Reason, difference, difference_of_reasons, same_number
from scheduler_runtime.testing.scenes import Change, pod_placed, pod_removed


def filter_row(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """``filter_row`` says of each row what ``filter`` says."""
    if not subject.has("filter_row"):
        return
    asked, cluster = case.asked, case.cluster
    with asked.about(cluster) as nodes:
        state = asked.filter_state(case.pod, nodes)
        if state is SKIP or isinstance(state, Reject):
            return
        whole = asked.reasons(case.pod, nodes, unrestricted(state))
        for row, name in enumerate(nodes.names):
            found = collect_rejections(asked.hook("filter_row"), case.pod, nodes, unrestricted(state), row)
            if words := difference_of_reasons(whole[name], _at(found)):
                yield (
                    f"filter_row disagrees with filter about {name} ({words}); it must yield a Reject for each reason "
                    "that holds for the row, and for no other"
                )


def score_row(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """``score_row`` says of each row what ``score`` says."""
    if not subject.has("score_row"):
        return
    asked = case.asked
    with asked.about(case.cluster) as every:
        nodes, scoring = asked.to_be_scored(case.pod, case.cluster, every)
        if scoring is SKIP:
            return
        whole = np.asarray(asked("score", case.pod, nodes, scoring))
        for row in np.flatnonzero(nodes.feasible).tolist():
            name = nodes.names[row]
            found = asked("score_row", case.pod, nodes, scoring, row)
            if not same_number(whole[row].item(), found):
                yield f"score_row scores {name} {found}, and score {whole[row].item()}; both must give the same number"


def trial(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """What is said of a node with one pod more or less on trial is what is said when the pod really comes or goes."""
    if not subject.has("filter"):
        return
    random, scene = case.chance.random, case.scene
    living = [(pod, node) for pod, node in scene.placed if not pod.metadata.deletion_timestamp]
    if not (pod := case.chance.pod()).metadata.deletion_timestamp:
        yield from _tried(subject, case, pod_placed(scene, pod, random.choice(scene.names)))
    if living:
        yield from _tried(subject, case, pod_removed(scene, *random.choice(living)))


def after_rejecting(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """Where ``pre_filter`` rejects a pod and eviction could help, ``filter`` can be asked without a state."""
    if not subject.has("pre_filter") or not subject.has("filter"):
        return
    asked = case.asked
    with asked.about(case.cluster) as nodes:
        state = asked.filter_state(case.pod, nodes)
        if not (isinstance(state, Reject) and state.resolvable is True):
            return
        try:
            asked.reasons(case.pod, nodes, None)
        except PluginError as error:
            yield (
                f'pre_filter rejected the pod ("{shortened(state.reason)}"), and then filter fails: '
                f"{told(error.__cause__ or error, subject.kind)}; preemption asks it with None as state, unless the "
                "Reject says resolvable=False"
            )


def _tried(subject: PluginUnderTest, case: Case, change: Change) -> Iterator[str]:
    asked, cluster = subject.fresh(), case.cluster
    with asked.about(cluster) as nodes:
        state = asked.filter_state(case.pod, nodes)
    fresh = subject.fresh().about_pod(case.pod, change.scene.cluster())
    if state is SKIP or isinstance(state, Reject) or fresh.whole or fresh.skipped:
        return
    before = asked.about_pod(case.pod, cluster)
    found = _at(_on_trial(asked, case, cluster, unrestricted(state), change))
    hook = "remove_pod" if change.events[0][0] else "add_pod"
    if words := difference_of_reasons(_own(fresh.reasons[change.node]), found):
        yield (
            f"{change.words} on trial, and filter says something else of {change.node} than when the pod really comes "
            f"or goes ({words}); {hook} must bring the state of pre_filter up to date"
        )
    if words := difference(before, asked.about_pod(case.pod, cluster)):
        yield f"after a trial with {hook} it answers otherwise ({words}); a trial must leave nothing behind"


def _on_trial(asked: Asked, case: Case, cluster: Cluster, state: object, change: Change) -> Sequence[Reject]:
    filters, row = [asked.row_filter()], cluster.table.row(change.node)
    trials = WhatIf(case.pod, cluster.table, filters, {asked.name: state}, Nominations())
    assert row is not None, change  # noqa: S101 - the node is there before and after
    with trials.trial(row) as tried:
        for old, new in change.events:
            if isinstance(new, Pod):
                tried.add(new)
            if isinstance(old, Pod):
                tried.remove(old)
        found: Sequence[Reject] = tried.rejections()
        return found


def _own(reasons: frozenset[Reason]) -> frozenset[Reason]:
    """Without that of a Restrict, which is no business of filter."""
    return frozenset(reason for reason in reasons if reason != ELSEWHERE)


def _at(found: Iterable[Reject]) -> frozenset[Reason]:
    """The reasons for one row: each Reject that is yielded for it counts, whatever its rows are."""
    return frozenset((reject.reason, bool(reject.resolvable), reject.pending) for reject in found)
