"""Which changes may make room for a pod that hard constraints kept waiting."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_runtime.api import Node, Pod
from scheduler_runtime.plugins.podtopologyspread.constraints import Constraint


def pod_helps(
    old: Pod | None, new: Pod | None, pod: Pod, constraints: Sequence[Constraint], *, nominated: bool
) -> bool:
    """Whether a pod that came, changed or went may help ``pod``; with ``nominated`` also one on its way to a node."""
    changed = [each for each in (old, new) if each is not None]
    if not all(_is_involved(each, pod, nominated=nominated) for each in changed):
        return False
    if old is None or new is None:
        return any(constraint.selects(each) for constraint in constraints for each in changed)
    tolerates_more = new.uid == pod.uid and new.spec.tolerations != old.spec.tolerations
    if tolerates_more and any(constraint.honors_taints for constraint in constraints):
        return True
    return any(constraint.selects(old) != constraint.selects(new) for constraint in constraints)


def _is_involved(other: Pod, pod: Pod, *, nominated: bool) -> bool:
    has_node = other.spec.node_name or (nominated and other.status.nominated_node_name)
    return bool(has_node) or other.uid == pod.uid


def node_helps(old: Node | None, new: Node | None, constraints: Sequence[Constraint]) -> bool:
    """Whether a node that came, changed or went may make a pod with these ``constraints`` schedulable."""
    if old is None or new is None:
        return any(_has_all_keys(each, constraints) for each in (old, new) if each is not None)
    matched, matches = _has_all_keys(old, constraints), _has_all_keys(new, constraints)
    if matched != matches:
        return True
    moved = any(old.labels.get(each.key) != new.labels.get(each.key) for each in constraints)
    return matches and (moved or old.spec.taints != new.spec.taints)


def _has_all_keys(node: Node, constraints: Sequence[Constraint]) -> bool:
    return all(constraint.key in node.labels for constraint in constraints)
