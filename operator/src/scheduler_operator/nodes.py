"""``spec.nodes``: the only nodes a profile uses, said to the NodeAffinity plugin as its addedAffinity."""

from collections.abc import Mapping
from typing import Any

from scheduler_operator.models.label_selector import LabelSelector

PLUGIN = "NodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def added_affinity(args: Mapping[str, Any], nodes: LabelSelector) -> dict[str, Any]:
    """``args`` of NodeAffinity with ``nodes`` required beside what they require already."""
    added = dict(args.get("addedAffinity") or {})
    required = dict(added.get(_REQUIRED) or {})
    wanted = _expressions(nodes)
    terms = required.get("nodeSelectorTerms") or [{}]
    required["nodeSelectorTerms"] = [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or []), *wanted]} for term in terms
    ]
    return {**args, "addedAffinity": {**added, _REQUIRED: required}}


def _expressions(nodes: LabelSelector) -> list[dict[str, Any]]:
    labels = sorted((nodes.match_labels or {}).items())
    return [
        *({"key": key, "operator": "In", "values": [value]} for key, value in labels),
        *(each.model_dump(by_alias=True, exclude_none=True) for each in nodes.match_expressions or ()),
    ]
