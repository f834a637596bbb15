"""Weights that are not what their author thinks."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.catalog.args import NodeAffinityArgs, NodeResourcesFitArgs
from scheduler_runtime.config.expansion import WEIGHED
from scheduler_runtime.config.linter.checks import Match, Severity, check, check_of
from scheduler_runtime.config.linter.inputs import DocumentInput, EffectiveInput, ProfileInput, names
from scheduler_runtime.config.linter.suggested_fixes import disabling, either


@check("WeightReset", Severity.WARNING)
def weight_reset(profile: ProfileInput) -> Iterator[Match]:
    """A plugin with a default score weight of 2 or 3 is named without a weight, and then counts 1.

    Write the default weight, or another one, next to the name.
    """
    for path, plugin in _without_weight(profile):
        weight = profile.default_plugins.get(plugin, 0)
        if weight > 1:
            message = f"{plugin} is named without a weight, so it counts 1 instead of its default {weight}"
            yield Match(path, message, f"{{name: {plugin}, weight: {weight}}}")


def _without_weight(profile: ProfileInput) -> Iterator[tuple[str, str]]:
    """Yield path and plugin of the entries that decide about a weight at score and have none."""
    for place in ("score", "multiPoint"):
        for path, plugin in profile.entries(place):
            if plugin.weight is None and _decides(place, profile, plugin.name, "score"):
                yield path, plugin.name


@check("WeightZero", Severity.WARNING)
def weight_zero(profile: ProfileInput) -> Iterator[Match]:
    """A plugin has the weight 0, which kube-scheduler reads as 1, so it still scores.

    Disable the plugin at score, or leave the weight out.
    """
    for place in (*WEIGHED, "multiPoint"):
        for path, plugin in profile.entries(place):
            points = [
                point
                for point in WEIGHED
                if plugin.name in profile.plugins_at(point) and _decides(place, profile, plugin.name, point)
            ]
            as_by_default = place == "multiPoint" and profile.default_plugins.get(plugin.name) == 0
            if plugin.weight == 0 and points and not as_by_default:
                yield Match(
                    f"{path}.weight",
                    f"0 does not disable {plugin.name}: it counts 1, as if no weight were written",
                    either(disabling(profile, plugin.name, points)) or f"{{name: {plugin.name}}}",
                )


def _decides(place: str, profile: ProfileInput, plugin: str, point: str) -> bool:
    """Return True if an entry at ``place`` decides about the weight of ``plugin`` at ``point``.

    An entry at the point itself is stronger than one at multiPoint.
    """
    has_own_entry = plugin in names(profile.own[point].enabled)
    return place == (point if has_own_entry else "multiPoint")


@check("ScoreWithoutWeight", Severity.NOTE)
def score_without_weight(effective: EffectiveInput) -> Iterator[Match]:
    """A plugin that is not a default scores without a weight, so it counts only 1 among all the others.

    Write the weight that it should have.
    """
    scoring = effective.at("score")
    total = sum(plugin.weight for plugin in scoring.values())
    for path, plugin in _without_weight(effective.profile):
        if plugin in scoring and plugin not in effective.profile.default_plugins:
            message = f"{plugin} scores without a weight, so it counts 1 of {total}"
            yield Match(path, message, f"{{name: {plugin}, weight: 1}}")


@check("WeightIgnored", Severity.WARNING)
def weight_ignored(profile: ProfileInput) -> Iterator[Match]:
    """A weight is written where it has no effect: at a point that does not score, or for a disabled plugin.

    Move the weight to the plugin's entry at score, or leave it out.
    """
    for point in profile.places:
        for index, disabled in enumerate(profile.own[point].disabled):
            if disabled.weight:
                yield Match(
                    f"plugins.{point}.disabled[{index}].weight",
                    f"{disabled.name} is disabled here; a weight of {disabled.weight} has no effect",
                    f"{{name: {disabled.name}}}",
                )
        for path, plugin in profile.entries(point):
            points = set(profile.points_of(plugin.name)) if point == "multiPoint" else {point}
            if plugin.weight and points and not points & set(WEIGHED):
                message = f"{plugin.name} does not score here; its weight of {plugin.weight} has no effect"
                yield Match(f"{path}.weight", message, f"{{name: {plugin.name}}}")


@check("ConfiguredTwice", Severity.WARNING)
def weight_configured_twice(profile: ProfileInput) -> Iterator[Match]:
    """One setting is written in two places, and one of them is silently ignored.

    Keep only the one that you want.
    """
    at_score = {plugin.name: plugin.weight or 1 for _, plugin in profile.entries("score")}
    for path, plugin in profile.entries("multiPoint"):
        counts = at_score.get(plugin.name, plugin.weight)
        if plugin.weight and counts != plugin.weight:
            yield Match(
                f"{path}.weight",
                f"{plugin.name} has weight {plugin.weight} here and {counts} at score; {counts} counts",
                f"{{name: {plugin.name}}}",
            )


@check_of(weight_configured_twice.code)
def percentage_configured_twice(document: DocumentInput) -> Iterator[Match]:
    own = [profile.percentage_of_nodes_to_score for profile in document.fields.profiles]
    shared = document.fields.percentage_of_nodes_to_score
    if shared and all(percentage is not None and percentage != shared for percentage in own):
        percentages = ", ".join(map(str, own))
        message = f"{shared} is ignored, because every profile has a percentage of its own: {percentages}"
        yield Match("percentageOfNodesToScore", message, "remove this line")


@check_of(weight_configured_twice.code)
def resource_configured_twice(effective: EffectiveInput) -> Iterator[Match]:
    args = effective.args("NodeResourcesFit")
    if not isinstance(args, NodeResourcesFitArgs) or not effective.runs("NodeResourcesFit", "score"):
        return
    resources = [resource.name for resource in args.scoring_strategy.resources]
    for index, name in enumerate(resources):
        if name in resources[:index]:
            path = f"{effective.args_entry('NodeResourcesFit')[0]}.scoringStrategy.resources[{index}]"
            message = f"{name} is in resources[{resources.index(name)}] already; both count"
            yield Match(path, message, "remove this entry")


@check("NegativeWeight", Severity.ERROR)
def negative_weight(effective: EffectiveInput) -> Iterator[Match]:
    """A weight is negative, so the nodes that the plugin or the term prefers most are avoided most.

    Write a weight of 1 or more.
    """
    for point in WEIGHED:
        for name, plugin in effective.at(point).items():
            if plugin.weight < 0:
                message = f"{name} counts {plugin.weight}: the node with its best score loses most"
                path = effective.profile.path_of_entry(name, point)
                yield Match(f"{path}.weight", message, f"{{name: {name}, weight: 1}}")


@check_of(negative_weight.code)
def negative_preference(effective: EffectiveInput) -> Iterator[Match]:
    args = effective.args("NodeAffinity")
    if not isinstance(args, NodeAffinityArgs) or args.added_affinity is None:
        return
    field = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(args.added_affinity.preferred_during_scheduling_ignored_during_execution):
        if term.weight < 0:
            path = f"{effective.args_entry('NodeAffinity')[0]}.{field}[{index}].weight"
            yield Match(path, f"a preference of {term.weight} keeps pods off the nodes it names", "weight: 1")
