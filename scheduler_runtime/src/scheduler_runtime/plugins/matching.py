"""Matching of node selectors, taints and tolerations, over all nodes at once and for a single node.

Conditions on labels and names follow upstream's k8s.io/component-helpers/scheduling/corev1/nodeaffinity. A term that
cannot be read, and one without conditions, matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from scheduler_runtime.catalog.syntax import field_problem, label_problem, parse_int64
from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.objects import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Taint,
    Toleration,
)
from scheduler_runtime.state.table import Mask, NodeTable

# Node selectors over the table.

_OFTEN = 32
"""After so many terms it is worth looking whether more of them can add a node."""


def is_sound(term: NodeSelectorTerm) -> bool:
    """True if ``term`` has conditions and all of them can be read."""
    if not term.match_expressions and not term.match_fields:
        return False
    return problem_in(term, "") is None


def problem_in(term: NodeSelectorTerm, path: str) -> str | None:
    """The first condition of ``term`` that cannot be read, explained, with its path below ``path``."""
    for name, requirements, check in (
        ("matchExpressions", term.match_expressions, label_problem),
        ("matchFields", term.match_fields, field_problem),
    ):
        for index, requirement in enumerate(requirements):
            problem = check(requirement.key, requirement.operator, requirement.values)
            if problem is not None:
                place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem[0])
                return f"{path}.{name}[{index}]{place}: {problem[1]}"
    return None


def sound_terms(selector: NodeSelector) -> tuple[NodeSelectorTerm, ...]:
    """The terms of ``selector`` that can match anything."""
    return tuple(term for term in selector.node_selector_terms if is_sound(term))


def matching_rows(selector: NodeSelector, nodes: NodeTable) -> Mask:
    """The nodes that one of the terms matches. Without terms, none."""
    return any_term_rows(sound_terms(selector), nodes)


def any_term_rows(terms: Iterable[NodeSelectorTerm], nodes: NodeTable) -> Mask:
    """The nodes that one of the sound ``terms`` matches. Without terms, none."""
    matched: Mask | None = None
    for number, term in enumerate(terms, 1):
        rows = term_rows(term, nodes)
        if rows is True:
            return np.ones(len(nodes), np.bool_)
        if rows is not False:
            matched = rows if matched is None else matched | rows
            if not number % _OFTEN and matched.all():
                break
    return np.zeros(len(nodes), np.bool_) if matched is None else matched


def term_rows(term: NodeSelectorTerm, nodes: NodeTable) -> Mask | bool:
    """The nodes on which all conditions of a sound ``term`` hold; True for all nodes, False for none.

    A user may write thousands of conditions on labels and names that no node has: they take no look at the nodes.
    """
    matched: Mask | None = None
    for requirement in term.match_expressions:
        if nodes.has_label(requirement.key):
            rows = _label_rows(requirement, nodes)
            matched = rows if matched is None else matched & rows
        elif requirement.operator not in ("NotIn", "DoesNotExist"):
            return False
    for requirement in term.match_fields:
        # The only field is metadata.name, and it has exactly one value.
        is_in, row = requirement.operator == "In", nodes.row(requirement.values[0])
        if row is not None:
            named = np.full(len(nodes), not is_in, np.bool_)
            named[row] = is_in
            matched = named if matched is None else matched & named
        elif is_in:
            return False
    return True if matched is None else matched


def labelled_rows(labels: Mapping[str, str], nodes: NodeTable) -> Mask:
    """The nodes that have all these labels."""
    matched = np.ones(len(nodes), np.bool_)
    for key, value in labels.items():
        if not nodes.has_label(key):
            return np.zeros(len(nodes), np.bool_)
        matched &= nodes.label(key).equals(value)
    return matched


def _label_rows(requirement: NodeSelectorRequirement, nodes: NodeTable) -> Mask:
    column = nodes.label(requirement.key)
    match requirement.operator:
        case "In":
            return column.isin(requirement.values)
        case "NotIn":
            return ~column.isin(requirement.values)
        case "Exists":
            return column.exists()
        case "DoesNotExist":
            return ~column.exists()
        case "Gt":
            return column.above(int(requirement.values[0]))
    return column.below(int(requirement.values[0]))


# Node selectors for a single node.


def matches(selector: NodeSelector, node: Node) -> bool:
    """True if one of the terms matches ``node``."""
    return any(is_sound(term) and term_matches(term, node) for term in selector.node_selector_terms)


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """True if all conditions of a sound ``term`` hold on ``node``."""
    return all(_label_matches(requirement, node) for requirement in term.match_expressions) and all(
        (node.name == requirement.values[0]) == (requirement.operator == "In") for requirement in term.match_fields
    )


def _label_matches(requirement: NodeSelectorRequirement, node: Node) -> bool:
    value = node.labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    number = None if value is None else parse_int64(value)
    if number is None:
        return False
    limit = int(requirement.values[0])
    return number > limit if requirement.operator == "Gt" else number < limit


# Taints and tolerations.

Tolerations = tuple[Toleration, ...]

_DECIMAL = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


def tolerates(tolerations: Tolerations, taint: Taint, *, comparing: bool = False) -> bool:
    """True if one of ``tolerations`` covers ``taint``. An empty key or effect covers every key or effect.

    The operators Gt and Lt (KEP-5471) cover nothing unless ``comparing``; an unknown operator covers nothing.
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
    """A number in its only spelling: without a plus sign and leading zeros, as the API's validation has it."""
    return parse_int64(text) if _DECIMAL.fullmatch(text) else None


def keeps_away(taints: tuple[Taint, ...], tolerations: Tolerations, *, comparing: bool = False) -> bool:
    """True if some NoSchedule or NoExecute taint is not covered."""
    if len(taints) <= _FEW and len(tolerations) <= _FEW:
        return _keeps_away(taints, tolerations, comparing=comparing)
    by_key = _by_key(tolerations)
    return any(not by_key.cover(taint, comparing) for taint in _hard_and_soft(taints)[0])


def discouragements(taints: tuple[Taint, ...], tolerations: Tolerations, *, comparing: bool = False) -> int:
    """The number of PreferNoSchedule taints that are not covered."""
    if len(taints) <= _FEW and len(tolerations) <= _FEW:
        return _discouragements(taints, tolerations, comparing=comparing)
    by_key, (_, soft) = _by_key(tolerations), _hard_and_soft(taints)
    return sum(not by_key.cover(taint, comparing) for taint in soft) if tolerations else len(soft)


@lru_cache(maxsize=16384)
def _keeps_away(taints: tuple[Taint, ...], tolerations: Tolerations, *, comparing: bool) -> bool:
    return any(not tolerates(tolerations, taint, comparing=comparing) for taint in _split(taints)[0])


@lru_cache(maxsize=16384)
def _discouragements(taints: tuple[Taint, ...], tolerations: Tolerations, *, comparing: bool) -> int:
    return sum(not tolerates(tolerations, taint, comparing=comparing) for taint in _split(taints)[1])


def unknown_operator(tolerations: Tolerations) -> str | None:
    """A sentence about the first operator that does not exist, with its path in the pod; None when all exist."""
    return _unknown_operator(tolerations) if len(tolerations) <= _FEW else _by_key(tolerations).unknown_operator


@lru_cache(maxsize=16384)
def _unknown_operator(tolerations: Tolerations) -> str | None:
    for index, toleration in enumerate(tolerations):
        if toleration.operator not in ("", "Equal", "Exists", "Gt", "Lt"):
            path = f"spec.tolerations[{index}].operator"
            return f"{path}: {toleration.operator!r} is not one of Equal, Exists, Gt and Lt, so it tolerates nothing"
    return None


# Long lists. Thousands of taints and of tolerations are not compared each with each, and not even hashed again in each
# decision: what follows from them is found by the identity of the list, which the pods of a template share.

_FEW = 32
_T = TypeVar("_T")
_Taints = tuple[Taint, ...]


class TolerationsByKey:
    """Many tolerations, by the key of the taints that they may cover."""

    def __init__(self, tolerations: Tolerations) -> None:
        self.unknown_operator = _unknown_operator.__wrapped__(tolerations)
        self._by_key: dict[str, list[Toleration]] = {}
        # Those without a key concern every taint; equal ones say it once.
        for toleration in dict.fromkeys(tolerations):
            self._by_key.setdefault(toleration.key, []).append(toleration)

    def cover(self, taint: Taint, comparing: bool) -> bool:
        """True if one of them covers ``taint``."""
        return any(_covers(one, taint, comparing) for one in self._by_key.get(taint.key, ())) or any(
            _covers(one, taint, comparing) for one in self._by_key.get("", ())
        )


def _split(taints: _Taints) -> tuple[_Taints, _Taints]:
    """The taints that keep pods away, and those that discourage them."""
    hard = tuple([taint for taint in taints if taint.effect in ("NoSchedule", "NoExecute")])
    soft = tuple([taint for taint in taints if taint.effect == "PreferNoSchedule"])
    return hard, soft


class _OfLongLists(Generic[_T]):
    """What follows from long lists, as of the latest of them."""

    def __init__(self, find: Callable[[Any], _T]) -> None:
        self._find = find
        self._known: LruCache[int, tuple[object, _T]] = LruCache(_MAX_LONG_LISTS)

    def __call__(self, entries: tuple[object, ...]) -> _T:
        known = self._known.get(id(entries))
        if known is None:
            known = entries, self._find(entries)  # with the list, so that its id stays its own
            self._known.put(id(entries), known)
        return known[1]


_MAX_LONG_LISTS = 8
_by_key = _OfLongLists(TolerationsByKey)
_hard_and_soft = _OfLongLists(_split)
