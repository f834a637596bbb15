"""Profiles that keep to some nodes: conditions that no node can meet, and plugins that do not know of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from scheduler_runtime.catalog.args import NodeAffinityArgs, NodeSelectorRequirement, NodeSelectorTerm
from scheduler_runtime.catalog.syntax import parse_int64
from scheduler_runtime.config.linter.checks import Match, Severity, check
from scheduler_runtime.config.linter.inputs import EffectiveInput

REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"

DEPRECATED_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "beta.kubernetes.io/arch": "kubernetes.io/arch",
        "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/os": "kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    }
)
"""Labels of nodes that are deprecated, with those that replace them."""


def can_match(term: NodeSelectorTerm) -> bool:
    """Return True if some node could match ``term``. One without conditions matches none, as in Kubernetes."""
    labels, fields = term.match_expressions, term.match_fields
    if any(condition.key != "metadata.name" and condition.operator == "In" for condition in fields):
        return False
    return bool(labels or fields) and all(
        _can_meet([condition for condition in conditions if condition.key == key])
        for conditions in (labels, fields)
        for key in dict.fromkeys(condition.key for condition in conditions)
    )


def _can_meet(conditions: Sequence[NodeSelectorRequirement]) -> bool:
    """Return True if one label can meet all ``conditions`` on it."""
    operators = {condition.operator for condition in conditions}
    if "DoesNotExist" in operators:
        return operators <= {"DoesNotExist", "NotIn"}
    lists = [set(condition.values) for condition in conditions if condition.operator == "In"]
    if lists:
        return any(_meets(value, conditions) for value in set.intersection(*lists))
    lower = [int(condition.values[0]) for condition in conditions if condition.operator == "Gt"]
    upper = [int(condition.values[0]) for condition in conditions if condition.operator == "Lt"]
    if not lower or not upper:
        return True
    # One more number than NotIn excludes has to be tried; the whole range may be astronomically long.
    excluded = sum(len(condition.values) for condition in conditions if condition.operator == "NotIn")
    first, end = max(lower) + 1, min(upper)
    return any(_meets(str(value), conditions) for value in range(first, min(end, first + 1 + excluded)))


def _meets(value: str, conditions: Iterable[NodeSelectorRequirement]) -> bool:
    number = parse_int64(value)
    for condition in conditions:
        operator, values = condition.operator, condition.values
        bound = parse_int64(values[0]) if operator in ("Gt", "Lt") else None
        if operator == "NotIn" and value in values:
            return False
        if bound is not None and (number is None or (number <= bound if operator == "Gt" else number >= bound)):
            return False
    return True


def _required(effective: EffectiveInput) -> tuple[NodeSelectorTerm, ...] | None:
    """Return the terms of which a node must match one; None when nothing is required, or the filter does not run."""
    args = effective.args("NodeAffinity")
    if not isinstance(args, NodeAffinityArgs) or args.added_affinity is None:
        return None
    if not effective.runs("NodeAffinity", "filter"):
        return None
    required = args.added_affinity.required_during_scheduling_ignored_during_execution
    return required.node_selector_terms if required is not None else None


@check("NodesContradictAffinity", Severity.ERROR)
def nodes_contradict_affinity(effective: EffectiveInput) -> Iterator[Match]:
    """A profile's conditions on its nodes contradict each other: no node can match, so no pod is placed.

    Make the conditions of `nodes` and of addedAffinity agree on at least one node.
    """
    terms = _required(effective)
    if terms is not None and not any(can_match(term) for term in terms):
        yield Match(
            f"{effective.args_entry('NodeAffinity')[0]}.{REQUIRED}",
            f"no node can match: {'; nor '.join(map(describe_term, terms)) or 'there is no term'}",
            "nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [batch]}]}]",
        )


def describe_term(term: NodeSelectorTerm) -> str:
    """Return a term in words."""
    conditions = [
        f"{condition.key} {condition.operator} {', '.join(condition.values)}".rstrip()
        for condition in (*term.match_expressions, *term.match_fields)
    ]
    return " and ".join(conditions) or "a term without conditions, which matches nothing"


@check("NodesIgnoredBySpread", Severity.NOTE)
def nodes_ignored_by_spread(effective: EffectiveInput) -> Iterator[Match]:
    """Spread constraints also count zones and nodes that the profile excludes: a pod with DoNotSchedule may wait
    without end for a node that it may not use.

    Give pods with hard constraints a nodeSelector for the profile's nodes; constraints respect it.
    """
    terms = _required(effective)
    if terms and any(can_match(term) for term in terms) and effective.runs("PodTopologySpread", "filter"):
        yield Match(
            f"{effective.args_entry('NodeAffinity')[0]}.{REQUIRED}",
            f"pods go where {' or '.join(map(describe_term, terms))}, "
            "but hard spread constraints count the other nodes too",
            "topologySpreadConstraints with a nodeSelector beside them, in the pods",
        )


@check("DeprecatedField", Severity.WARNING)
def deprecated_label(effective: EffectiveInput) -> Iterator[Match]:
    """The document uses a value or a node label that Kubernetes has deprecated: new nodes need not have it.

    Use the replacement; the finding names it.
    """
    for plugin in ("NodeAffinity", "PodTopologySpread"):
        if plugin in effective.running.names:
            path, args = effective.args_entry(plugin)
            for label_path, label in _deprecated_labels(args, path):
                field = label_path.rpartition(".")[2]
                yield Match(label_path, f"the label {label} is deprecated", f"{field}: {DEPRECATED_LABELS[label]}")


def _deprecated_labels(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of every deprecated label that a condition or constraint in ``value`` uses."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("key", "topologyKey") and inner in DEPRECATED_LABELS:
                yield f"{path}.{name}", inner
            yield from _deprecated_labels(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _deprecated_labels(inner, f"{path}[{index}]")
