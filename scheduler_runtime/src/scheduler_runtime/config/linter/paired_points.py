"""Plugins of which one half runs and the other does not: what one extension point leaves for the next is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Check, Code, Match, check
from scheduler_runtime.config.linter.inputs import EffectiveInput, ProfileInput
from scheduler_runtime.config.linter.point_pairs import (
    FILTER_WITHOUT_PRE_BIND,
    FILTER_WITHOUT_PRE_FILTER,
    PRE_BIND_WITHOUT_RESERVE,
    RESERVE_WITHOUT_FILTER,
    SCORE_WITHOUT_PRE_SCORE,
    PointPair,
    first_halves,
    follows,
    halves,
    with_needing,
)
from scheduler_runtime.config.linter.suggested_fixes import disabling, either, enabling

_COSTLY = ("PodTopologySpread", "InterPodAffinity")


def _look(column: tuple[PointPair, ...]) -> Callable[[EffectiveInput], Iterator[Match]]:
    def look(meaning: EffectiveInput) -> Iterator[Match]:
        first = first_halves(meaning)
        for half in column:
            if half in first:
                yield Match(
                    meaning.written.removal(half.plugin, half.off),
                    f"{half.plugin} runs at {half.on} but not at {half.off}: {half.consequence}",
                    _made_whole(meaning, half),
                )

    return look


def _made_whole(meaning: EffectiveInput, half: PointPair) -> str:
    """How to run all that ``half`` and what follows from it miss, and how to run nothing that misses it."""
    written, plugin = meaning.written, half.plugin
    missing = [each.off for each in halves(meaning) if each.plugin == plugin and follows(each, half)]
    needing = with_needing(plugin, missing, written.points(plugin))
    wanted = [point for point in needing if point in missing or meaning.has(plugin, point)]
    return either(enabling(written, plugin, wanted), disabling(written, plugin, missing))


def _both_or_neither(written: ProfileInput, plugin: str, on: str, off: str) -> str:
    """How to run ``plugin`` at ``off`` too, and how to run it at neither point."""
    return either(enabling(written, plugin, (off,)), disabling(written, plugin, (on,)))


filter_without_pre_filter: Check[EffectiveInput] = check(
    Code(
        "FilterWithoutPreFilter",
        Severity.ERROR,
        "A plugin filters without its preFilter, whose results it reads; it fails, and every pod with it.",
        "Enable or disable the plugin at both points.",
    )
)(_look(FILTER_WITHOUT_PRE_FILTER))

score_without_pre_score: Check[EffectiveInput] = check(
    Code(
        "ScoreWithoutPreScore",
        Severity.ERROR,
        "A plugin scores without the point that prepares it, and fails wherever a pod has a choice of nodes.",
        "Enable or disable the plugin at both points.",
    )
)(_look(SCORE_WITHOUT_PRE_SCORE))

reserve_without_filter: Check[EffectiveInput] = check(
    Code(
        "ReserveWithoutFilter",
        Severity.ERROR,
        "A plugin reserves volumes or claims that its filter has not chosen.",
        "Run the plugin at preFilter, filter, reserve and preBind, or at none of them.",
    )
)(_look(RESERVE_WITHOUT_FILTER))

pre_bind_without_reserve: Check[EffectiveInput] = check(
    Code(
        "PreBindWithoutReserve",
        Severity.ERROR,
        "A plugin binds volumes or claims that it has not reserved.",
        "Run the plugin at preFilter, filter, reserve and preBind, or at none of them.",
    )
)(_look(PRE_BIND_WITHOUT_RESERVE))

filter_without_pre_bind: Check[EffectiveInput] = check(
    Code(
        "FilterWithoutPreBind",
        Severity.ERROR,
        "A plugin chooses volumes or claims for a pod's node, and nothing ever writes that choice down.",
        "Run the plugin at preFilter, filter, reserve and preBind, or at none of them.",
    )
)(_look(FILTER_WITHOUT_PRE_BIND))


@check(
    Code(
        "PreFilterWithoutFilter",
        Severity.WARNING,
        "A plugin prepares at preFilter what only its filter would use: nodes are not filtered by it.",
        "Disable the plugin at preFilter too, or enable it at filter.",
    )
)
def pre_filter_without_filter(meaning: EffectiveInput) -> Iterator[Match]:
    worse = {half.plugin for half in first_halves(meaning)}
    for name in meaning.at("preFilter"):
        if "filter" in meaning.written.points(name) and not meaning.has(name, "filter") and name not in worse:
            yield Match(
                meaning.written.removal(name, "filter"),
                f"{name} runs at preFilter but not at filter, so it does not keep pods off nodes",
                _both_or_neither(meaning.written, name, "preFilter", "filter"),
            )


@check(
    Code(
        "PreScoreWithoutScore",
        Severity.NOTE,
        "A plugin counts pods on every node at preScore, for a score that is off: time spent for nothing.",
        "Disable the plugin at preScore too, or enable it at score.",
    )
)
def pre_score_without_score(meaning: EffectiveInput) -> Iterator[Match]:
    if not meaning.at("score"):
        return  # without any score no preScore runs
    for name in _COSTLY:
        if meaning.has(name, "preScore") and not meaning.has(name, "score"):
            yield Match(
                meaning.written.removal(name, "score"),
                f"{name} runs at preScore but not at score, so it counts the pods of every node for nothing",
                either(disabling(meaning.written, name, ("preScore",))),
            )


@check(
    Code(
        "HalfGang",
        Severity.WARNING,
        "GangScheduling runs at one of preEnqueue and permit; the one collects a gang, the other holds it together.",
        "Enable GangScheduling at multiPoint, or nowhere.",
    )
)
def half_gang(meaning: EffectiveInput) -> Iterator[Match]:
    halves = ("preEnqueue", "permit")
    running = [point for point in halves if meaning.has("GangScheduling", point)]
    if len(running) == 1 and not meaning.written.is_idle("GangScheduling"):
        missing = halves[1 - halves.index(running[0])]
        effect = "pods of a gang are bound one by one" if missing == "permit" else "gangs start before they are whole"
        yield Match(
            meaning.written.removal("GangScheduling", missing),
            f"GangScheduling runs at {running[0]} but not at {missing}: {effect}",
            _both_or_neither(meaning.written, "GangScheduling", running[0], missing),
        )
