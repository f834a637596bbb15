"""Requirements of pods, written as kubectl writes selectors: ``app in (a, b), !canary``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIREMENT = re.compile(r"(!?)([\w./-]+)(?: (in|notin) \(([^)]*)\))?(?:, |$)")
_OPERATORS = {("", "in"): "In", ("", "notin"): "NotIn", ("", ""): "Exists", ("!", ""): "DoesNotExist"}


def requirements(text: str) -> list[Object]:
    """Read a selector. Raises AssertionError when some of it cannot be read."""
    matches = list(_REQUIREMENT.finditer(text))
    assert "".join(match[0] for match in matches) == text, text
    return [_requirement(*match.groups(default="")) for match in matches]


def _requirement(sign: str, key: str, operator: str, values: str) -> Object:
    read = {"key": key, "operator": _OPERATORS[sign, operator]}
    return read | ({"values": values.split(", ")} if operator else {})


def term(topology_key: str, selector: str | Mapping[str, str], **more: Any) -> Object:
    """A pod affinity term. A selector that is a mapping is one of labels that must be equal."""
    selecting = {"matchExpressions": requirements(selector)} if isinstance(selector, str) else {"matchLabels": selector}
    return {"topologyKey": topology_key, "labelSelector": selecting, **more}


def near(*terms: Object) -> Object:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Object) -> Object:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def on(expressions: str, fields: str = "") -> Object:
    """A required node affinity of one term."""
    one: Object = {"matchExpressions": requirements(expressions)}
    if fields:
        one["matchFields"] = requirements(fields)
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [one]}}}


def spread(max_skew: int, topology_key: str, selector: str = "foo", *, hard: bool = True, **more: Any) -> Object:
    """A constraint of topology spreading."""
    return {
        "maxSkew": max_skew,
        "topologyKey": topology_key,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": {"matchExpressions": requirements(selector)},
        **more,
    }


def taint(key: str, value: str, effect: str = "NoSchedule") -> Object:
    return {"key": key, "value": value, "effect": effect}


def tolerates(key: str, value: str, operator: str = "Equal", effect: str = "NoSchedule") -> Object:
    return {"key": key, "value": value, "operator": operator, "effect": effect}
