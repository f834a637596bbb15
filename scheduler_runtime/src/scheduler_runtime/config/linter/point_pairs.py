"""Points of upstream's plugins that go together, as data: a plugin leaves something at one point for another.

The consequences of running only one of them are upstream's, found by reading its plugins and by running them so.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from scheduler_runtime.catalog.args import VolumeBindingArgs
from scheduler_runtime.config.linter.inputs import EffectiveInput

_NO_POD = "every pod ends with an error and none is scheduled"
_NO_CHOICE = "every pod that has more than one node to choose from ends with an error"
_UNBOUND = "volumes that wait for their first pod are never bound, and the pod is stuck on its node"
_UNALLOCATED = "resource claims are never allocated, and pods that have some cannot start"
_STATEFUL_FILTERS = (
    "NodePorts NodeResourcesFit VolumeRestrictions VolumeBinding PodTopologySpread InterPodAffinity "
    "DynamicResources NodeDeclaredFeatures"
)


@dataclass(frozen=True, slots=True)
class PointPair:
    """A plugin that runs at ``on`` but not at ``off``, and the consequence of that."""

    plugin: str
    on: str
    off: str
    consequence: str


def _for_all(plugins: str, on: str, off: str, consequence: str) -> tuple[PointPair, ...]:
    return tuple(PointPair(plugin, on, off, consequence) for plugin in plugins.split())


FILTER_WITHOUT_PRE_FILTER = _for_all(_STATEFUL_FILTERS, "filter", "preFilter", _NO_POD)
SCORE_WITHOUT_PRE_SCORE = (
    *_for_all("TaintToleration PodTopologySpread InterPodAffinity", "score", "preScore", _NO_CHOICE),
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
        "VolumeBinding", "preBind", "reserve", "it treats every pod's volumes as unbound, so no pod is ever bound"
    ),
    PointPair(
        "DynamicResources", "preBind", "reserve", "pods with a claim that is not allocated yet end with an error"
    ),
)
FILTER_WITHOUT_PRE_BIND = (
    PointPair("VolumeBinding", "filter", "preBind", f"what it chose is never written: {_UNBOUND}"),
    PointPair("DynamicResources", "filter", "preBind", f"what it chose is never written: {_UNALLOCATED}"),
)
_PAIRS = (
    *FILTER_WITHOUT_PRE_FILTER,
    *RESERVE_WITHOUT_FILTER,
    *PRE_BIND_WITHOUT_RESERVE,
    *FILTER_WITHOUT_PRE_BIND,
    *SCORE_WITHOUT_PRE_SCORE,
)


def broken_pairs(effective: EffectiveInput) -> list[PointPair]:
    """Return all pairs of which a plugin runs at the one point and not at the other, the first cause first."""
    volumes = effective.args("VolumeBinding")
    has_shape = isinstance(volumes, VolumeBindingArgs) and bool(volumes.shape)
    return [
        pair
        for pair in _PAIRS
        if effective.runs(pair.plugin, pair.on)
        and not effective.runs(pair.plugin, pair.off)
        and effective.works_at(pair.plugin, pair.off)
        and not effective.profile.is_gated_off(pair.plugin)
        # Without a shape VolumeBinding scores by nothing, and its preScore returns at once.
        and (pair.on != "preScore" or has_shape)
    ]


def first_causes(effective: EffectiveInput) -> set[PointPair]:
    """Return the first broken pair of each plugin: its other ones follow from it. Scoring is a chain of its own."""
    causes: dict[tuple[str, bool], PointPair] = {}
    for pair in broken_pairs(effective):
        causes.setdefault((pair.plugin, pair.off == "preScore"), pair)
    return set(causes.values())


def follows(pair: PointPair, cause: PointPair) -> bool:
    """Return True if ``pair`` is not reported, because ``cause`` of the same plugin is."""
    return (pair.off == "preScore") is (cause.off == "preScore")


def with_required(plugin: str, points: Collection[str], own_points: Collection[str]) -> tuple[str, ...]:
    """Return ``points`` and those that ``plugin`` needs to run there, in the order of its ``own_points``."""
    required = set(points)
    for _ in _PAIRS:  # each round adds what the last one needs; there are fewer rounds than pairs
        required |= {pair.off for pair in _PAIRS if pair.plugin == plugin and pair.on in required}
    return tuple(point for point in own_points if point in required)


def with_dependent(plugin: str, points: Collection[str], own_points: Collection[str]) -> tuple[str, ...]:
    """Return ``points`` and those where ``plugin`` cannot run without them, in the order of its ``own_points``."""
    return tuple(point for point in own_points if set(points) & {point, *with_required(plugin, (point,), own_points)})
