"""Whether tolerations cover a taint."""

from __future__ import annotations

import re
from functools import lru_cache

from scheduler_runtime.catalog.checks import parse_int64
from scheduler_runtime.state.objects import Taint, Toleration

Tolerations = tuple[Toleration, ...]

_DECIMAL = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


def tolerates(tolerations: Tolerations, taint: Taint, *, comparing: bool = False) -> bool:
    """Whether one of ``tolerations`` covers ``taint``. An empty key or effect covers every key or effect.

    The operators Gt and Lt cover nothing unless ``comparing``, and an operator that does not exist covers nothing.
    """
    return any(_covers(toleration, taint, comparing) for toleration in tolerations)


def _covers(toleration: Toleration, taint: Taint, comparing: bool) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt" if comparing:
            limit, value = _whole_number(toleration.value), _whole_number(taint.value)
            if limit is None or value is None:
                return False
            return value > limit if toleration.operator == "Gt" else value < limit
    return False


def _whole_number(text: str) -> int | None:
    return parse_int64(text) if _DECIMAL.fullmatch(text) else None


@lru_cache(maxsize=16384)
def keeps_away(taints: tuple[Taint, ...], tolerations: Tolerations, *, comparing: bool = False) -> bool:
    """Whether some NoSchedule or NoExecute taint is not covered."""
    hard = (taint for taint in taints if taint.effect in ("NoSchedule", "NoExecute"))
    return any(not tolerates(tolerations, taint, comparing=comparing) for taint in hard)


@lru_cache(maxsize=16384)
def discouragements(taints: tuple[Taint, ...], tolerations: Tolerations, *, comparing: bool = False) -> int:
    """How many PreferNoSchedule taints are not covered."""
    soft = (taint for taint in taints if taint.effect == "PreferNoSchedule")
    return sum(not tolerates(tolerations, taint, comparing=comparing) for taint in soft)


@lru_cache(maxsize=16384)
def unknown_operator(tolerations: Tolerations) -> str | None:
    """The first operator that does not exist, with its path in the pod."""
    for index, toleration in enumerate(tolerations):
        if toleration.operator not in ("", "Equal", "Exists", "Gt", "Lt"):
            path = f"spec.tolerations[{index}].operator"
            return f"{path}: {toleration.operator!r} is not one of Equal, Exists, Gt and Lt, so it tolerates nothing"
    return None
