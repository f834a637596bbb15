"""Comparison of two decisions about the same pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.oracle.deciding.decision import Decision, Scores


def differences(theirs: Decision, ours: Decision) -> list[str]:
    """What is not the same, a sentence each; empty when the two agree."""
    if bool(theirs.node) != bool(ours.node):
        return [f"theirs: {theirs.node or theirs.message}\n ours: {ours.node or ours.message}"]
    if theirs.feasible != ours.feasible:
        there, here = theirs.feasible - ours.feasible, ours.feasible - theirs.feasible
        return [f"feasible only there: {_list(there)}; only here: {_list(here)}"]
    return list(_of_places(theirs, ours) if theirs.node else _of_reasons(theirs, ours))


def best(totals: Mapping[str, int], feasible: frozenset[str]) -> frozenset[str]:
    """The feasible nodes of which one is chosen."""
    highest = max(totals.values(), default=0)
    return frozenset(node for node in feasible if totals.get(node, 0) == highest)


def _of_places(theirs: Decision, ours: Decision) -> Iterator[str]:
    if len(theirs.feasible) > 1:
        yield from _of_scores(theirs.scores, ours.scores, theirs.feasible)
        if theirs.totals != ours.totals:
            yield f"totals there: {dict(sorted(theirs.totals.items()))}\n here: {dict(sorted(ours.totals.items()))}"
    if theirs.node not in best(ours.totals, ours.feasible):
        yield f"it chose {theirs.node}, which is not among our best, {_list(best(ours.totals, ours.feasible))}"
    if ours.node not in best(theirs.totals, theirs.feasible):
        yield f"we chose {ours.node}, which is not among its best, {_list(best(theirs.totals, theirs.feasible))}"


def _of_scores(theirs: Scores, ours: Scores, feasible: frozenset[str]) -> Iterator[str]:
    """A plugin that says nothing gives no points."""
    for plugin in sorted(theirs.keys() | ours.keys()):
        there, here = theirs.get(plugin, {}), ours.get(plugin, {})
        differing = {node: (there.get(node, 0), here.get(node, 0)) for node in sorted(feasible)}
        wrong = {node: pair for node, pair in differing.items() if pair[0] != pair[1]}
        if wrong:
            yield f"{plugin} scores (there, here): {wrong}"


def _of_reasons(theirs: Decision, ours: Decision) -> Iterator[str]:
    if _without_candidate(theirs.message, theirs, ours) != _without_candidate(ours.message, ours, ours):
        yield f"condition there: {theirs.message}\n here: {ours.message}"
    if _without_candidate(theirs.note, theirs, ours) != _without_candidate(ours.note, ours, ours):
        yield f"event there: {theirs.note}\n here: {ours.note}"
    if theirs.victims != ours.victims:
        yield f"victims there: {_named(theirs.victims)}\n here: {_named(ours.victims)}"
    if theirs.nominated != ours.nominated and not {theirs.nominated, ours.nominated} <= ours.best_candidates:
        yield f"nominated there: {theirs.nominated!r}, here: {ours.nominated!r} of {_list(ours.best_candidates)}"


def _without_candidate(text: str, decision: Decision, ours: Decision) -> str:
    """``text`` without the name of the node that was chosen among equally good candidates."""
    if decision.nominated not in ours.best_candidates:
        return text
    return text.replace(f"for pod on node {decision.nominated},", "for pod on one of the best nodes,")


def _list(nodes: frozenset[str]) -> str:
    return ", ".join(sorted(nodes)) or "none"


def _named(victims: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    return {node: sorted(pods) for node, pods in sorted(victims.items())}
