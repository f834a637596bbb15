"""Node selection of a profile (``spec.nodes``), passed to the NodeAffinity plugin as its addedAffinity."""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_operator.models.label_selector import LabelSelector

PLUGIN = "NodeAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = "nodeSelectorTerms"

Expressions = Sequence[Mapping[str, Any]]


def expressions(nodes: LabelSelector | None) -> Expressions:
    """Return the requirements of ``nodes`` on a node's labels; none when it is absent or empty: every node."""
    if nodes is None:
        return ()
    labels = sorted((nodes.match_labels or {}).items())
    return [
        *({"key": key, "operator": "In", "values": [value]} for key, value in labels),
        *(requirement.model_dump(by_alias=True, exclude_none=True) for requirement in nodes.match_expressions or ()),
    ]


def added_affinity(args: Mapping[str, Any], required_labels: Expressions) -> Mapping[str, Any]:
    """Return the ``args`` of NodeAffinity with ``required_labels`` added to what they require already.

    Parts that are malformed are left as they are: validation of the arguments reports them.
    """
    added = args.get("addedAffinity") or {}
    if not isinstance(added, Mapping):
        return args
    required = added.get(_REQUIRED)
    if required is None:
        required = {_TERMS: [{"matchExpressions": list(required_labels)}]}
    elif isinstance(required, Mapping) and isinstance(required.get(_TERMS), list):
        terms = list(required[_TERMS])
        for index, term in enumerate(terms):
            # A term without requirements matches no node in Kubernetes. With ours it would match some.
            if not isinstance(term, Mapping) or not any(term.values()):
                continue
            own = term.get("matchExpressions") or []
            if isinstance(own, list):
                terms[index] = {**term, "matchExpressions": [*own, *required_labels]}
        required = {**required, _TERMS: terms}
    return {**args, "addedAffinity": {**added, _REQUIRED: required}}
