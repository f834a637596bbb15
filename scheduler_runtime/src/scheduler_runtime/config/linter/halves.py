"""Plugins of which one half runs and the other does not: what one extension point leaves for the next is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...catalog.args import VolumeBindingArgs
from ..findings import Severity
from .checks import Check, Code, Told, check
from .subjects import Meaning

_NO_POD = "every pod ends with an error and none is scheduled"


@dataclass(frozen=True, slots=True)
class Half:
    """A plugin that runs at ``on`` but not at ``off``, and what comes of it."""

    plugin: str
    on: str
    off: str
    consequence: str


def _all(plugins: str, on: str, off: str, consequence: str) -> tuple[Half, ...]:
    return tuple(Half(plugin, on, off, consequence) for plugin in plugins.split())


_STATEFUL_FILTERS = (
    "NodePorts NodeResourcesFit VolumeRestrictions VolumeBinding PodTopologySpread InterPodAffinity "
    "DynamicResources NodeDeclaredFeatures"
)
_UNBOUND = "volumes that wait for their first pod are never bound, and the pod hangs on its node"
_UNALLOCATED = "resource claims are never allocated, and pods that have some cannot start"

_COSTLY = ("PodTopologySpread", "InterPodAffinity")

FILTER_WITHOUT_PRE_FILTER = _all(_STATEFUL_FILTERS, "filter", "preFilter", _NO_POD)
_NO_CHOICE = "every pod that has more than one node to choose from ends with an error"
SCORE_WITHOUT_PRE_SCORE = (
    *_all("TaintToleration PodTopologySpread InterPodAffinity", "score", "preScore", _NO_CHOICE),
    Half("DynamicResources", "score", "preFilter", _NO_CHOICE),
    Half("VolumeBinding", "preScore", "preFilter", _NO_CHOICE),
)
RESERVE_WITHOUT_FILTER = (
    Half("VolumeBinding", "reserve", "preFilter", _NO_POD),
    Half("DynamicResources", "reserve", "preFilter", _NO_POD),
    Half("VolumeBinding", "reserve", "filter", f"it has no node's volumes to reserve: {_UNBOUND}"),
    Half("DynamicResources", "reserve", "filter", "pods with a claim that is not allocated yet end with an error"),
)
PRE_BIND_WITHOUT_RESERVE = (
    Half("VolumeBinding", "preBind", "reserve", "it takes every pod's volumes for unbound, so no pod is ever bound"),
    Half("DynamicResources", "preBind", "reserve", "pods with a claim that is not allocated yet end with an error"),
)
FILTER_WITHOUT_PRE_BIND = (
    Half("VolumeBinding", "filter", "preBind", f"what it chose is never written: {_UNBOUND}"),
    Half("DynamicResources", "filter", "preBind", f"what it chose is never written: {_UNALLOCATED}"),
)
_KNOWN = (
    *FILTER_WITHOUT_PRE_FILTER,
    *RESERVE_WITHOUT_FILTER,
    *PRE_BIND_WITHOUT_RESERVE,
    *FILTER_WITHOUT_PRE_BIND,
    *SCORE_WITHOUT_PRE_SCORE,
)


def _applies(half: Half, meaning: Meaning) -> bool:
    return (
        meaning.has(half.plugin, half.on)
        and not meaning.has(half.plugin, half.off)
        and meaning.needs(half.plugin, half.off)
        and not meaning.written.is_idle(half.plugin)
        and not (half.on == "preScore" and _scores_no_volumes(meaning))
    )


def _scores_no_volumes(meaning: Meaning) -> bool:
    """Whether VolumeBinding scores by nothing, so that its preScore does not even look."""
    args = meaning.args("VolumeBinding")
    return not isinstance(args, VolumeBindingArgs) or not args.shape


def _first(meaning: Meaning) -> set[Half]:
    """Of the halves that apply, the first of each plugin, preScore apart: what comes after it follows from it."""
    found: dict[tuple[str, bool], Half] = {}
    for half in _KNOWN:
        if _applies(half, meaning):
            found.setdefault((half.plugin, half.off == "preScore"), half)
    return set(found.values())


def _look(column: tuple[Half, ...]) -> Callable[[Meaning], Iterator[Told]]:
    def look(meaning: Meaning) -> Iterator[Told]:
        first = _first(meaning)
        for half in column:
            if half in first:
                yield Told(
                    meaning.written.removal(half.plugin, half.off),
                    f"{half.plugin} runs at {half.on} but not at {half.off}: {half.consequence}",
                    f"{half.on}: {{disabled: [{{name: {half.plugin}}}]}} as well, "
                    f"or {half.off}: {{enabled: [{{name: {half.plugin}}}]}}",
                )

    return look


filter_without_pre_filter: Check[Meaning] = check(
    Code(
        "FilterWithoutPreFilter",
        Severity.ERROR,
        "A plugin filters without its preFilter, whose results it reads; it fails, and every pod with it.",
        "Enable or disable the plugin at both points.",
    )
)(_look(FILTER_WITHOUT_PRE_FILTER))

score_without_pre_score: Check[Meaning] = check(
    Code(
        "ScoreWithoutPreScore",
        Severity.ERROR,
        "A plugin scores without the point that prepares it, and fails wherever a pod has a choice of nodes.",
        "Enable or disable the plugin at both points.",
    )
)(_look(SCORE_WITHOUT_PRE_SCORE))

reserve_without_filter: Check[Meaning] = check(
    Code(
        "ReserveWithoutFilter",
        Severity.ERROR,
        "A plugin reserves volumes or claims that its filter has not chosen.",
        "Run the plugin at preFilter, filter, reserve and preBind, or at none of them.",
    )
)(_look(RESERVE_WITHOUT_FILTER))

pre_bind_without_reserve: Check[Meaning] = check(
    Code(
        "PreBindWithoutReserve",
        Severity.ERROR,
        "A plugin binds volumes or claims that it has not reserved.",
        "Run the plugin at preFilter, filter, reserve and preBind, or at none of them.",
    )
)(_look(PRE_BIND_WITHOUT_RESERVE))

filter_without_pre_bind: Check[Meaning] = check(
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
def pre_filter_without_filter(meaning: Meaning) -> Iterator[Told]:
    worse = {half.plugin for half in _first(meaning)}
    for name in meaning.at("preFilter"):
        if "filter" in meaning.written.points(name) and not meaning.has(name, "filter") and name not in worse:
            yield Told(
                meaning.written.removal(name, "filter"),
                f"{name} runs at preFilter but not at filter, so it does not keep pods off nodes",
                f"preFilter: {{disabled: [{{name: {name}}}]}} as well, or filter: {{enabled: [{{name: {name}}}]}}",
            )


@check(
    Code(
        "PreScoreWithoutScore",
        Severity.NOTE,
        "A plugin counts pods on every node at preScore, for a score that is off: time spent for nothing.",
        "Disable the plugin at preScore too, or enable it at score.",
    )
)
def pre_score_without_score(meaning: Meaning) -> Iterator[Told]:
    if not meaning.at("score"):
        return  # without any score no preScore runs
    for name in _COSTLY:
        if meaning.has(name, "preScore") and not meaning.has(name, "score"):
            yield Told(
                meaning.written.removal(name, "score"),
                f"{name} runs at preScore but not at score, so it counts the pods of every node for nothing",
                f"preScore: {{disabled: [{{name: {name}}}]}} as well",
            )


@check(
    Code(
        "HalfGang",
        Severity.WARNING,
        "GangScheduling runs at one of preEnqueue and permit; the one collects a gang, the other holds it together.",
        "Enable GangScheduling at multiPoint, or nowhere.",
    )
)
def half_gang(meaning: Meaning) -> Iterator[Told]:
    halves = ("preEnqueue", "permit")
    running = [point for point in halves if meaning.has("GangScheduling", point)]
    if len(running) == 1 and not meaning.written.is_idle("GangScheduling"):
        missing = halves[1 - halves.index(running[0])]
        effect = "pods of a gang are bound one by one" if missing == "permit" else "gangs start before they are whole"
        yield Told(
            meaning.written.removal("GangScheduling", missing),
            f"GangScheduling runs at {running[0]} but not at {missing}: {effect}",
            "multiPoint: {enabled: [{name: GangScheduling}]}",
        )
