"""Profiles that keep to some nodes: which nodes those can be, and who does not know of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scheduler_runtime.catalog.args import NodeAffinityArgs, NodeSelectorRequirement, NodeSelectorTerm
from scheduler_runtime.catalog.checks import parse_int64
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import EffectiveInput

REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"


def can_match(term: NodeSelectorTerm) -> bool:
    """Whether some node could match ``term``. One without conditions matches none, as in Kubernetes."""
    labels, fields = term.match_expressions, term.match_fields
    if any(each.key != "metadata.name" and each.operator == "In" for each in fields):
        return False
    return bool(labels or fields) and all(
        _is_possible([each for each in kind if each.key == key])
        for kind in (labels, fields)
        for key in dict.fromkeys(each.key for each in kind)
    )


def _is_possible(wanted: Sequence[NodeSelectorRequirement]) -> bool:
    """Whether one label can meet all that is wanted of it."""
    operators = {each.operator for each in wanted}
    if "DoesNotExist" in operators:
        return operators <= {"DoesNotExist", "NotIn"}
    listed = [set(each.values) for each in wanted if each.operator == "In"]
    if listed:
        return any(_fits(value, wanted) for value in set.intersection(*listed))
    least, most = _bounds(wanted)
    return (
        least is None
        or most is None
        or any(_fits(str(value), wanted) for value in _between(least, most, _excluded(wanted)))
    )


def _fits(value: str, wanted: Iterable[NodeSelectorRequirement]) -> bool:
    number = parse_int64(value)
    for each in wanted:
        bound = parse_int64(each.values[0]) if each.operator in ("Gt", "Lt") else None
        if each.operator == "NotIn" and value in each.values:
            return False
        if bound is not None and (number is None or (number <= bound if each.operator == "Gt" else number >= bound)):
            return False
    return True


def _bounds(wanted: Iterable[NodeSelectorRequirement]) -> tuple[int | None, int | None]:
    above = [int(each.values[0]) for each in wanted if each.operator == "Gt"]
    below = [int(each.values[0]) for each in wanted if each.operator == "Lt"]
    return max(above) if above else None, min(below) if below else None


def _excluded(wanted: Iterable[NodeSelectorRequirement]) -> int:
    return sum(len(each.values) for each in wanted if each.operator == "NotIn")


def _between(least: int, most: int, excluded: int) -> range:
    """The numbers between two bounds, as many as have to be tried when ``excluded`` values are out."""
    return range(least + 1, min(most, least + 2 + excluded))


def _required(meaning: EffectiveInput) -> tuple[NodeSelectorTerm, ...] | None:
    """The terms of which a node must match one; None when nothing is required, or nobody looks."""
    args = meaning.args("NodeAffinity")
    if (
        not isinstance(args, NodeAffinityArgs)
        or args.added_affinity is None
        or not meaning.has("NodeAffinity", "filter")
    ):
        return None
    required = args.added_affinity.required_during_scheduling_ignored_during_execution
    return required.node_selector_terms if required is not None else None


@check(
    Code(
        "NodesContradictAffinity",
        Severity.ERROR,
        "What a profile requires of its nodes contradicts itself: no node can have such labels, so no pod is placed.",
        "Make the conditions of `nodes` and of addedAffinity agree on at least one node.",
    )
)
def nodes_contradict_affinity(meaning: EffectiveInput) -> Iterator[Match]:
    terms = _required(meaning)
    if terms is not None and not any(can_match(term) for term in terms):
        yield Match(
            f"{meaning.entry('NodeAffinity')[0]}.{REQUIRED}",
            f"no node can match: {'; nor '.join(map(describe_term, terms)) or 'there is no term'}",
            "nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [batch]}]}]",
        )


def describe_term(term: NodeSelectorTerm) -> str:
    """A term in words."""
    conditions = [
        f"{each.key} {each.operator} {', '.join(each.values)}".rstrip()
        for each in (*term.match_expressions, *term.match_fields)
    ]
    return " and ".join(conditions) or "a term without conditions, which matches nothing"


@check(
    Code(
        "NodesIgnoredBySpread",
        Severity.NOTE,
        "Spread constraints count zones and nodes that the profile keeps away from, because they know nothing of it: "
        "a pod with DoNotSchedule may wait for ever for a node it is not allowed.",
        "Give pods with hard constraints a nodeSelector for the profile's nodes; constraints do look at that.",
    )
)
def nodes_ignored_by_spread(meaning: EffectiveInput) -> Iterator[Match]:
    terms = _required(meaning)
    if terms and any(can_match(term) for term in terms) and meaning.has("PodTopologySpread", "filter"):
        yield Match(
            f"{meaning.entry('NodeAffinity')[0]}.{REQUIRED}",
            f"pods go where {' or '.join(map(describe_term, terms))}, "
            "but hard spread constraints count the other nodes too",
            "topologySpreadConstraints with a nodeSelector beside them, in the pods",
        )
