"""Whether tolerations cover a taint."""

from __future__ import annotations

from functools import lru_cache

from ..wire import Taint, Toleration

Tolerations = tuple[Toleration, ...]


def tolerates(tolerations: Tolerations, taint: Taint) -> bool:
    """Whether one of ``tolerations`` covers ``taint``. An empty key or effect covers every key or effect."""
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


@lru_cache(maxsize=16384)
def keeps_away(taints: tuple[Taint, ...], tolerations: Tolerations) -> bool:
    """Whether some NoSchedule or NoExecute taint is not covered."""
    return any(taint.effect in ("NoSchedule", "NoExecute") and not tolerates(tolerations, taint) for taint in taints)


@lru_cache(maxsize=16384)
def discouragements(taints: tuple[Taint, ...], tolerations: Tolerations) -> int:
    """How many PreferNoSchedule taints are not covered."""
    return sum(taint.effect == "PreferNoSchedule" and not tolerates(tolerations, taint) for taint in taints)
