"""Plugins that run at one of two points that go together: what the one leaves for the other is missing."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.config.linter.checks import Match, Severity, check
from scheduler_runtime.config.linter.inputs import EffectiveInput
from scheduler_runtime.config.linter.point_pairs import (
    FILTER_WITHOUT_PRE_BIND,
    FILTER_WITHOUT_PRE_FILTER,
    PRE_BIND_WITHOUT_RESERVE,
    RESERVE_WITHOUT_FILTER,
    SCORE_WITHOUT_PRE_SCORE,
    PointPair,
    broken_pairs,
    first_causes,
    follows,
    with_dependent,
)
from scheduler_runtime.config.linter.suggested_fixes import disabling, either, enabling

_COSTLY = ("PodTopologySpread", "InterPodAffinity")


def _broken(effective: EffectiveInput, pairs: tuple[PointPair, ...]) -> Iterator[Match]:
    """Yield a match for those of ``pairs`` that are broken, unless that follows from another pair of the plugin.

    The suggestion is to run the plugin wherever it runs now, with all that it needs for that, or nowhere of these.
    """
    profile, causes = effective.profile, first_causes(effective)
    for pair in pairs:
        if pair not in causes:
            continue
        plugin = pair.plugin
        missing = [other.off for other in broken_pairs(effective) if other.plugin == plugin and follows(other, pair)]
        dependent = with_dependent(plugin, missing, profile.points_of(plugin))
        points = [point for point in dependent if point in missing or effective.runs(plugin, point)]
        yield Match(
            profile.path_of_removal(plugin, pair.off),
            f"{plugin} runs at {pair.on} but not at {pair.off}: {pair.consequence}",
            either(enabling(profile, plugin, points), disabling(profile, plugin, missing)),
        )


@check("FilterWithoutPreFilter", Severity.ERROR)
def filter_without_pre_filter(effective: EffectiveInput) -> Iterator[Match]:
    """A plugin filters without its preFilter, whose results it needs; it fails for every pod.

    Enable or disable the plugin at both points.
    """
    return _broken(effective, FILTER_WITHOUT_PRE_FILTER)


@check("ScoreWithoutPreScore", Severity.ERROR)
def score_without_pre_score(effective: EffectiveInput) -> Iterator[Match]:
    """A plugin scores without its preScore or preFilter, and fails for every pod that fits more than one node.

    Enable or disable the plugin at both points.
    """
    return _broken(effective, SCORE_WITHOUT_PRE_SCORE)


@check("ReserveWithoutFilter", Severity.ERROR)
def reserve_without_filter(effective: EffectiveInput) -> Iterator[Match]:
    """A plugin reserves volumes or claims that its filter did not choose.

    Run the plugin at preFilter, filter, reserve and preBind, or at none of them.
    """
    return _broken(effective, RESERVE_WITHOUT_FILTER)


@check("PreBindWithoutReserve", Severity.ERROR)
def pre_bind_without_reserve(effective: EffectiveInput) -> Iterator[Match]:
    """A plugin binds volumes or claims that it did not reserve.

    Run the plugin at preFilter, filter, reserve and preBind, or at none of them.
    """
    return _broken(effective, PRE_BIND_WITHOUT_RESERVE)


@check("FilterWithoutPreBind", Severity.ERROR)
def filter_without_pre_bind(effective: EffectiveInput) -> Iterator[Match]:
    """A plugin chooses volumes or claims for a pod's node, but never writes its choice to the API server.

    Run the plugin at preFilter, filter, reserve and preBind, or at none of them.
    """
    return _broken(effective, FILTER_WITHOUT_PRE_BIND)


@check("PreFilterWithoutFilter", Severity.WARNING)
def pre_filter_without_filter(effective: EffectiveInput) -> Iterator[Match]:
    """A plugin runs at preFilter only for its filter, which is off: it does not filter nodes.

    Disable the plugin at preFilter too, or enable it at filter.
    """
    profile = effective.profile
    worse = {pair.plugin for pair in first_causes(effective)}
    for name in effective.at("preFilter"):
        if "filter" in profile.points_of(name) and not effective.runs(name, "filter") and name not in worse:
            yield Match(
                profile.path_of_removal(name, "filter"),
                f"{name} runs at preFilter but not at filter, so it does not keep pods off nodes",
                either(enabling(profile, name, ("filter",)), disabling(profile, name, ("preFilter",))),
            )


@check("PreScoreWithoutScore", Severity.NOTE)
def pre_score_without_score(effective: EffectiveInput) -> Iterator[Match]:
    """A plugin counts pods on every node at preScore, for a score that is off: this only costs time.

    Disable the plugin at preScore too, or enable it at score.
    """
    if not effective.at("score"):
        return  # without any score no preScore runs
    for name in _COSTLY:
        if effective.runs(name, "preScore") and not effective.runs(name, "score"):
            yield Match(
                effective.profile.path_of_removal(name, "score"),
                f"{name} runs at preScore but not at score, so it counts the pods of every node for nothing",
                either(disabling(effective.profile, name, ("preScore",))),
            )


@check("HalfGang", Severity.WARNING)
def half_gang(effective: EffectiveInput) -> Iterator[Match]:
    """GangScheduling runs at only one of preEnqueue and permit; one collects a gang, the other keeps it together.

    Enable GangScheduling at multiPoint, or nowhere.
    """
    name, halves, profile = "GangScheduling", ("preEnqueue", "permit"), effective.profile
    running = [point for point in halves if effective.runs(name, point)]
    if len(running) == 1 and not profile.is_gated_off(name):
        missing = halves[1 - halves.index(running[0])]
        effect = (
            "pods of a gang are bound one by one" if missing == "permit" else "gangs start before they are complete"
        )
        yield Match(
            profile.path_of_removal(name, missing),
            f"{name} runs at {running[0]} but not at {missing}: {effect}",
            either(enabling(profile, name, (missing,)), disabling(profile, name, running)),
        )
