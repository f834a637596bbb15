"""Weights that are not what their author thinks."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.catalog.args import NodeAffinityArgs, NodeResourcesFitArgs
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import DocumentInput, EffectiveInput, ProfileInput, names
from scheduler_runtime.config.linter.suggested_fixes import disabling, either
from scheduler_runtime.config.merging import WEIGHED


@check(
    Code(
        "WeightReset",
        Severity.WARNING,
        "A plugin that scores by default with weight 2 or 3 is named without a weight, and counts 1 from then on.",
        "Write the default weight beside the name, or the weight that is meant.",
    )
)
def weight_reset(written: ProfileInput) -> Iterator[Match]:
    for path, plugin in _without_weight(written):
        weight = written.default_plugins.get(plugin, 0)
        if weight > 1:
            message = f"{plugin} is named without a weight, so it counts 1 instead of its default {weight}"
            yield Match(path, message, f"{{name: {plugin}, weight: {weight}}}")


def _without_weight(written: ProfileInput) -> Iterator[tuple[str, str]]:
    """The entries that say what a plugin counts at score and give it no weight: path and name."""
    for place in ("score", "multiPoint"):
        for path, plugin in written.enabled(place):
            if plugin.weight is None and _decides(place, written, plugin.name, "score"):
                yield path, plugin.name


@check(
    Code(
        "WeightZero",
        Severity.WARNING,
        "A plugin is given the weight 0, which kube-scheduler reads as 1: it scores all the same.",
        "Disable the plugin at score to silence it, or leave the weight out.",
    )
)
def weight_zero(written: ProfileInput) -> Iterator[Match]:
    for point in (*WEIGHED, "multiPoint"):
        for path, plugin in written.enabled(point):
            scores = [
                each
                for each in WEIGHED
                if plugin.name in written.runs(each) and _decides(point, written, plugin.name, each)
            ]
            as_ever = point == "multiPoint" and written.default_plugins.get(plugin.name) == 0
            if plugin.weight == 0 and scores and not as_ever:
                yield Match(
                    f"{path}.weight",
                    f"0 does not silence {plugin.name}: it counts 1, as if no weight were written",
                    either(disabling(written, plugin.name, scores)) or f"{{name: {plugin.name}}}",
                )


def _decides(place: str, written: ProfileInput, plugin: str, point: str) -> bool:
    """Whether an entry at ``place`` says what ``plugin`` counts at ``point``, and not one that is stronger."""
    entered = plugin in names(written.profile.plugins.at(point).enabled)
    return place == (point if entered else "multiPoint")


@check(
    Code(
        "ScoreWithoutWeight",
        Severity.NOTE,
        "A plugin that is no default starts to score without a weight, so it counts 1 beside all the others.",
        "Write a weight that says how much it is to count.",
    )
)
def score_without_weight(meaning: EffectiveInput) -> Iterator[Match]:
    scoring = meaning.at("score")
    total = sum(plugin.weight for plugin in scoring.values())
    for path, plugin in _without_weight(meaning.written):
        if plugin in scoring and plugin not in meaning.written.default_plugins:
            yield Match(
                path, f"{plugin} scores without a weight, so it counts 1 of {total}", f"{{name: {plugin}, weight: 1}}"
            )


@check(
    Code(
        "WeightIgnored",
        Severity.WARNING,
        "A weight is written where nothing is weighed: at a point that does not score, or at something disabled.",
        "Move the weight to the plugin's entry at score, or leave it out.",
    )
)
def weight_ignored(written: ProfileInput) -> Iterator[Match]:
    for point in written.defaults.points_in_order():
        for index, disabled in enumerate(written.profile.plugins.at(point).disabled):
            if disabled.weight:
                path = f"plugins.{point}.disabled[{index}].weight"
                yield Match(
                    path,
                    f"{disabled.name} is disabled here; a weight of {disabled.weight} says nothing",
                    f"{{name: {disabled.name}}}",
                )
        for path, plugin in written.enabled(point):
            places = set(written.points(plugin.name)) if point == "multiPoint" else {point}
            if plugin.weight and places and not places & set(WEIGHED):
                message = f"{plugin.name} does not score here; its weight of {plugin.weight} counts for nothing"
                yield Match(f"{path}.weight", message, f"{{name: {plugin.name}}}")


@check(
    Code(
        "ConfiguredTwice",
        Severity.WARNING,
        "One setting is written in two places, and one of them is silently passed over.",
        "Keep the one that is meant.",
    )
)
def weighed_twice(written: ProfileInput) -> Iterator[Match]:
    specific = {plugin.name: plugin.weight or 1 for _, plugin in written.enabled("score")}
    for path, plugin in written.enabled("multiPoint"):
        counts = specific.get(plugin.name, plugin.weight)
        if plugin.weight and counts != plugin.weight:
            yield Match(
                f"{path}.weight",
                f"{plugin.name} has weight {plugin.weight} here and {counts} at score; {counts} counts",
                f"{{name: {plugin.name}}}",
            )


@check(weighed_twice.code)
def sampled_twice(whole: DocumentInput) -> Iterator[Match]:
    own = [profile.percentage_of_nodes_to_score for profile in whole.document.profiles]
    shared = whole.document.percentage_of_nodes_to_score
    if shared and all(each is not None and each != shared for each in own):
        listed = ", ".join(str(each) for each in own)
        message = f"{shared} is passed over, because every profile has a percentage of its own: {listed}"
        yield Match("percentageOfNodesToScore", message, "remove this line")


@check(weighed_twice.code)
def counted_twice(meaning: EffectiveInput) -> Iterator[Match]:
    args = meaning.args("NodeResourcesFit")
    if not isinstance(args, NodeResourcesFitArgs) or not meaning.has("NodeResourcesFit", "score"):
        return
    named = [resource.name for resource in args.scoring_strategy.resources]
    for index, name in enumerate(named):
        if name in named[:index]:
            path = f"{meaning.entry('NodeResourcesFit')[0]}.scoringStrategy.resources[{index}]"
            yield Match(path, f"{name} is in resources[{named.index(name)}] already; both count", "remove this entry")


@check(
    Code(
        "NegativeWeight",
        Severity.ERROR,
        "A weight is negative, so what the plugin or the term likes best is avoided most.",
        "Write a weight of 1 or more.",
    )
)
def negative_weight(meaning: EffectiveInput) -> Iterator[Match]:
    for point in WEIGHED:
        for name, plugin in meaning.at(point).items():
            if plugin.weight < 0:
                message = f"{name} counts {plugin.weight}: the node it likes best loses most"
                yield Match(f"{meaning.written.place(name, point)}.weight", message, f"{{name: {name}, weight: 1}}")


@check(negative_weight.code)
def negative_preference(meaning: EffectiveInput) -> Iterator[Match]:
    args = meaning.args("NodeAffinity")
    if not isinstance(args, NodeAffinityArgs) or args.added_affinity is None:
        return
    field = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(args.added_affinity.preferred_during_scheduling_ignored_during_execution):
        if term.weight < 0:
            path = f"{meaning.entry('NodeAffinity')[0]}.{field}[{index}].weight"
            yield Match(path, f"a preference of {term.weight} keeps pods off the nodes it names", "weight: 1")
