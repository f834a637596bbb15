"""Which points of upstream's plugins go together, as data: what one of them leaves for another, and what comes without.

The consequences are upstream's, found by reading its plugins and by running them so.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from scheduler_runtime.catalog.args import VolumeBindingArgs
from scheduler_runtime.config.linter.inputs import EffectiveInput

_NO_POD = "every pod ends with an error and none is scheduled"
_NO_CHOICE = "every pod that has more than one node to choose from ends with an error"
_UNBOUND = "volumes that wait for their first pod are never bound, and the pod hangs on its node"
_UNALLOCATED = "resource claims are never allocated, and pods that have some cannot start"
_STATEFUL_FILTERS = (
    "NodePorts NodeResourcesFit VolumeRestrictions VolumeBinding PodTopologySpread InterPodAffinity "
    "DynamicResources NodeDeclaredFeatures"
)


@dataclass(frozen=True, slots=True)
class PointPair:
    """A plugin that runs at ``on`` but not at ``off``, and what comes of it."""

    plugin: str
    on: str
    off: str
    consequence: str


def _all(plugins: str, on: str, off: str, consequence: str) -> tuple[PointPair, ...]:
    return tuple(PointPair(plugin, on, off, consequence) for plugin in plugins.split())


FILTER_WITHOUT_PRE_FILTER = _all(_STATEFUL_FILTERS, "filter", "preFilter", _NO_POD)
SCORE_WITHOUT_PRE_SCORE = (
    *_all("TaintToleration PodTopologySpread InterPodAffinity", "score", "preScore", _NO_CHOICE),
    PointPair("DynamicResources", "score", "preFilter", _NO_CHOICE),
    PointPair("VolumeBinding", "preScore", "preFilter", _NO_CHOICE),
)
RESERVE_WITHOUT_FILTER = (
    PointPair("VolumeBinding", "reserve", "preFilter", _NO_POD),
    PointPair("DynamicResources", "reserve", "preFilter", _NO_POD),
    PointPair("VolumeBinding", "reserve", "filter", f"it has no node's volumes to reserve: {_UNBOUND}"),
    PointPair("DynamicResources", "reserve", "filter", "pods with a claim that is not allocated yet end with an error"),
)
PRE_BIND_WITHOUT_RESERVE = (
    PointPair(
        "VolumeBinding", "preBind", "reserve", "it takes every pod's volumes for unbound, so no pod is ever bound"
    ),
    PointPair(
        "DynamicResources", "preBind", "reserve", "pods with a claim that is not allocated yet end with an error"
    ),
)
FILTER_WITHOUT_PRE_BIND = (
    PointPair("VolumeBinding", "filter", "preBind", f"what it chose is never written: {_UNBOUND}"),
    PointPair("DynamicResources", "filter", "preBind", f"what it chose is never written: {_UNALLOCATED}"),
)
_KNOWN = (
    *FILTER_WITHOUT_PRE_FILTER,
    *RESERVE_WITHOUT_FILTER,
    *PRE_BIND_WITHOUT_RESERVE,
    *FILTER_WITHOUT_PRE_BIND,
    *SCORE_WITHOUT_PRE_SCORE,
)


def first_halves(meaning: EffectiveInput) -> set[PointPair]:
    """Of the halves that apply, the first of each plugin, preScore apart: what comes after it follows from it."""
    found: dict[tuple[str, bool], PointPair] = {}
    for half in _KNOWN:
        if _applies(half, meaning):
            found.setdefault((half.plugin, half.off == "preScore"), half)
    return set(found.values())


def follows(half: PointPair, first: PointPair) -> bool:
    """Whether ``half`` is not told, because ``first`` of the same plugin is."""
    return (half.off == "preScore") is (first.off == "preScore")


def halves(meaning: EffectiveInput) -> set[PointPair]:
    """All the halves that apply."""
    return {half for half in _KNOWN if _applies(half, meaning)}


def _applies(half: PointPair, meaning: EffectiveInput) -> bool:
    return (
        meaning.has(half.plugin, half.on)
        and not meaning.has(half.plugin, half.off)
        and meaning.needs(half.plugin, half.off)
        and not meaning.written.is_idle(half.plugin)
        and not (half.on == "preScore" and _scores_no_volumes(meaning))
    )


def _scores_no_volumes(meaning: EffectiveInput) -> bool:
    """Whether VolumeBinding scores by nothing, so that its preScore does not even look."""
    args = meaning.args("VolumeBinding")
    return not isinstance(args, VolumeBindingArgs) or not args.shape


def with_needed(plugin: str, points: Collection[str], having: Collection[str]) -> tuple[str, ...]:
    """``points`` and what ``plugin`` needs to run there, of the points that it has, in their order."""
    wanted = set(points)
    for _ in _KNOWN:  # each round adds what the last one needs; there are fewer rounds than pairs
        wanted |= {half.off for half in _KNOWN if half.plugin == plugin and half.on in wanted}
    return tuple(point for point in having if point in wanted)


def with_needing(plugin: str, points: Collection[str], having: Collection[str]) -> tuple[str, ...]:
    """``points`` and where ``plugin`` cannot run without them, of the points that it has, in their order."""
    return tuple(point for point in having if set(points) & {point, *with_needed(plugin, (point,), having)})
