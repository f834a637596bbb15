"""Node selectors as masks over the table, and for a single node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from scheduler_runtime.catalog.checks import field_problem, label_problem, parse_int64
from scheduler_runtime.state.objects import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler_runtime.state.table import Mask, NodeTable


def is_sound(term: NodeSelectorTerm) -> bool:
    """Whether all conditions of ``term`` can be read. Upstream passes over one that cannot, as over an empty one."""
    if not term.match_expressions and not term.match_fields:
        return False
    return problem_in(term, "") is None


def problem_in(term: NodeSelectorTerm, path: str) -> str | None:
    """What cannot be read in ``term``, with its path below ``path``."""
    for name, requirements, check in (
        ("matchExpressions", term.match_expressions, label_problem),
        ("matchFields", term.match_fields, field_problem),
    ):
        for index, requirement in enumerate(requirements):
            problem = check(requirement.key, requirement.operator, requirement.values)
            if problem is not None:
                at = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem[0])
                return f"{path}.{name}[{index}]{at}: {problem[1]}"
    return None


def sound_terms(selector: NodeSelector) -> tuple[NodeSelectorTerm, ...]:
    """The terms of ``selector`` that can be read; the others match nothing."""
    return tuple(term for term in selector.node_selector_terms if is_sound(term))


def matching_rows(selector: NodeSelector, nodes: NodeTable) -> Mask:
    """The nodes that one of the terms matches. Without terms, none."""
    return any_term_rows(sound_terms(selector), nodes)


def any_term_rows(terms: Iterable[NodeSelectorTerm], nodes: NodeTable) -> Mask:
    """The nodes that one of the sound ``terms`` matches. Without terms, none."""
    matched = np.zeros(len(nodes), np.bool_)
    for term in terms:
        matched |= term_rows(term, nodes)
    return matched


def term_rows(term: NodeSelectorTerm, nodes: NodeTable) -> Mask:
    """The nodes on which all conditions of a sound ``term`` hold."""
    matched = np.ones(len(nodes), np.bool_)
    for requirement in term.match_expressions:
        matched &= _label_rows(requirement, nodes)
    for requirement in term.match_fields:
        matched &= _name_rows(requirement, nodes)
    return matched


def labelled_rows(labels: Mapping[str, str], nodes: NodeTable) -> Mask:
    """The nodes that have all these labels."""
    matched = np.ones(len(nodes), np.bool_)
    for key, value in labels.items():
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


def _name_rows(requirement: NodeSelectorRequirement, nodes: NodeTable) -> Mask:
    named = np.zeros(len(nodes), np.bool_)
    row = nodes.row(requirement.values[0])
    if row is not None:
        named[row] = True
    return named if requirement.operator == "In" else ~named


def matches(selector: NodeSelector, node: Node) -> bool:
    """Whether one of the terms matches ``node``."""
    return any(is_sound(term) and term_matches(term, node) for term in selector.node_selector_terms)


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """Whether all conditions of a sound ``term`` hold on ``node``."""
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
