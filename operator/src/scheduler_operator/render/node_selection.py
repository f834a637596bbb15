"""``spec.nodes``: the only nodes a profile uses, said to the NodeAffinity plugin as its addedAffinity."""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_operator.models.label_selector import LabelSelector

PLUGIN = "NodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = "nodeSelectorTerms"

Expressions = Sequence[Mapping[str, Any]]


def expressions(nodes: LabelSelector | None) -> Expressions:
    """What ``nodes`` requires of a node's labels; nothing when it is absent or empty, which means every node."""
    if nodes is None:
        return ()
    labels = sorted((nodes.match_labels or {}).items())
    return [
        *({"key": key, "operator": "In", "values": [value]} for key, value in labels),
        *(each.model_dump(by_alias=True, exclude_none=True) for each in nodes.match_expressions or ()),
    ]


def added_affinity(args: Mapping[str, Any], wanted: Expressions) -> Mapping[str, Any]:
    """``args`` of NodeAffinity with ``wanted`` required beside what they require already.

    Of what is not written as it should be nothing is changed: whoever checks the arguments finds it.
    """
    added = args.get("addedAffinity") or {}
    if not isinstance(added, Mapping):
        return args
    required = added.get(_REQUIRED)
    if required is None:
        required = {_TERMS: [{"matchExpressions": list(wanted)}]}
    elif isinstance(required, Mapping) and isinstance(required.get(_TERMS), list):
        required = {**required, _TERMS: [_narrowed(term, wanted) for term in required[_TERMS]]}
    return {**args, "addedAffinity": {**added, _REQUIRED: required}}


def _narrowed(term: Any, wanted: Expressions) -> Any:
    """A term that requires nothing matches no node in Kubernetes, and must not come to match some."""
    if not isinstance(term, Mapping) or not any(term.values()):
        return term
    own = term.get("matchExpressions") or []
    return {**term, "matchExpressions": [*own, *wanted]} if isinstance(own, list) else term
