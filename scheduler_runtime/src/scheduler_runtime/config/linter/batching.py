"""Deciding equal pods together, and what prevents it."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_runtime.config.available_plugins import python_only_plugins
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import EffectiveInput

_SIGNED_POINTS = ("preFilter", "filter", "preScore", "score")
_UNSIGNED = frozenset({"DeferredPodScheduling"})


@check(
    Code(
        "BatchingDisabledByPlugin",
        Severity.NOTE,
        "Equal pods could be decided together, but a plugin without a signature prevents it.",
        "Give the plugin a signature if its verdict depends on the pod's fields alone.",
    )
)
def batching_disabled_by_plugin(meaning: EffectiveInput) -> Iterator[Match]:
    whole = meaning.written.whole
    if not whole.target.enabled("OpportunisticBatching") or python_only_plugins(
        whole.engine, meaning.enabled.names, whole.others
    ):
        return
    judging = dict.fromkeys(name for point in _SIGNED_POINTS for name in meaning.at(point))
    for name in judging:
        if not _signs(meaning, name):
            point = next(point for point in _SIGNED_POINTS if meaning.has(name, point))
            message = f"{name} has no signature, so every pod of this profile is decided by itself"
            yield Match(meaning.written.place(name, point), message, f"a signature in {name}")


def _signs(meaning: EffectiveInput, name: str) -> bool:
    if name in meaning.written.defaults.extends:
        return name not in _UNSIGNED
    declared = meaning.written.whole.others.get(name)
    return declared is not None and "signature" in declared.hooks
