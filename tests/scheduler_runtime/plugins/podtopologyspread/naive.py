"""Topology spreading by upstream's rules, written down for one node at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scheduler_runtime import testing
from scheduler_runtime.api import Node, Pod
from scheduler_runtime.plugins.podtopologyspread.scoring import log
from scheduler_runtime.state.objects import LabelSelector, Taint, Toleration, TopologySpreadConstraint

HOSTNAME = "kubernetes.io/hostname"
UNEVEN = ("node(s) didn't match pod topology spread constraints", True)
NO_LABEL = ("node(s) didn't match pod topology spread constraints (missing required label)", False)
Verdict = tuple[str, bool] | None
"""Why a node is out, and whether evicting pods could help; None when it is not."""


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether ``selector`` matches a pod with these ``labels``."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.match_labels or {}).items()):
        return False
    for requirement in selector.match_expressions:
        holds = {
            "In": labels.get(requirement.key) in requirement.values,
            "NotIn": labels.get(requirement.key) not in requirement.values,
            "Exists": requirement.key in labels,
            "DoesNotExist": requirement.key not in labels,
        }
        if not holds[requirement.operator]:
            return False
    return True


class Rule:
    """One constraint of a pod."""

    def __init__(self, pod: Pod, constraint: TopologySpreadConstraint, labels: Mapping[str, str] | None = None) -> None:
        """``labels`` are what pods must have to count, in place of the constraint's own selector."""
        own = pod.metadata.labels or {}
        self.pod, self.key, self.max_skew = pod, constraint.topology_key, constraint.max_skew
        self.min_domains = constraint.min_domains or 1
        self.selector = LabelSelector(match_labels=dict(labels)) if labels is not None else constraint.label_selector
        self.also = {key: own[key] for key in constraint.match_label_keys if key in own}
        self.honors_affinity = constraint.node_affinity_policy in (None, "Honor")
        self.honors_taints = constraint.node_taints_policy == "Honor"

    def matches(self, other: Pod) -> bool:
        labels = other.metadata.labels or {}
        return self.also.items() <= labels.items() and selects(self.selector, labels)

    @property
    def matches_everything(self) -> bool:
        empty = self.selector is not None and not (self.selector.match_labels or self.selector.match_expressions)
        return empty and not self.also

    def counts(self, pods: Sequence[Pod]) -> int:
        if self.matches_everything:
            return 0
        living = (pod for pod in pods if pod.metadata.deletion_timestamp is None)
        return sum(pod.metadata.namespace == self.pod.metadata.namespace and self.matches(pod) for pod in living)

    def allows(self, node: Node) -> bool:
        if self.honors_affinity and not wants(self.pod, node):
            return False
        hard = [taint for taint in node.spec.taints if taint.effect != "PreferNoSchedule"]
        return not self.honors_taints or all(covered(self.pod.spec.tolerations, taint) for taint in hard)


def wants(pod: Pod, node: Node) -> bool:
    """Whether the selector and the affinity of ``pod`` allow the node. Its terms have one condition each, or none."""
    if not (pod.spec.node_selector or {}).items() <= node.labels.items():
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if affinity is None or affinity.required is None:
        return True
    conditions = [one for term in affinity.required.node_selector_terms for one in term.match_expressions]
    return any(node.labels.get(one.key) in one.values for one in conditions)


def covered(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    return any(toleration.key in ("", taint.key) and toleration.operator == "Exists" for toleration in tolerations)


class NaiveFilter:
    """The hard constraints of a pod, with the count of every domain in a dictionary."""

    def __init__(self, rules: Sequence[Rule], cluster: testing.Cluster) -> None:
        self.rules = rules
        self.domains: list[dict[str, int]] = [{} for _ in rules]
        table = cluster.table
        for row in range(len(table)):
            self._count(table.node(row), [rule.counts(list(table.pods(row))) for rule in rules])

    def _count(self, node: Node, numbers: Sequence[int]) -> None:
        if not all(rule.key in node.labels for rule in self.rules):
            return
        for rule, domains, number in zip(self.rules, self.domains, numbers, strict=True):
            if rule.allows(node):
                domains[node.labels[rule.key]] = domains.get(node.labels[rule.key], 0) + number

    def move(self, other: Pod, node: Node, change: int) -> None:
        """Count ``other`` on the node, or off it."""
        same = [rule.pod.metadata.namespace == other.metadata.namespace for rule in self.rules]
        matched = zip(self.rules, same, strict=True)
        self._count(node, [change if here and rule.matches(other) else 0 for rule, here in matched])

    def verdict(self, node: Node) -> Verdict:
        for rule, domains in zip(self.rules, self.domains, strict=True):
            if rule.key not in node.labels:
                return NO_LABEL
            least = min(domains.values(), default=2**31 - 1)
            if len(domains) < rule.min_domains:
                least = 0
            if domains.get(node.labels[rule.key], 0) + rule.matches(rule.pod) - least > rule.max_skew:
                return UNEVEN
        return None


class NaiveScore:
    """The soft constraints of a pod, for some feasible nodes."""

    def __init__(
        self, rules: Sequence[Rule], cluster: testing.Cluster, feasible: Sequence[bool], *, requires_all: bool
    ) -> None:
        self.rules, self.requires_all, self.table = rules, requires_all, cluster.table
        self.rows = [row for row, inside in enumerate(feasible) if inside]
        self.scored = [row for row in self.rows if not self._ignores(row)]
        self.domains: list[dict[str, int]] = []
        for rule in rules:
            domains = {self._value(rule, row): 0 for row in self.scored}
            for row in range(len(self.table)):
                if not self._ignores(row) and rule.allows(self.table.node(row)) and self._value(rule, row) in domains:
                    domains[self._value(rule, row)] += rule.counts(list(self.table.pods(row)))
            self.domains.append(domains)

    def _ignores(self, row: int) -> bool:
        return self.requires_all and any(rule.key not in self.table.node(row).labels for rule in self.rules)

    def _value(self, rule: Rule, row: int) -> str:
        return self.table.node(row).labels.get(rule.key, "")

    def _raw(self, row: int) -> int:
        total = 0.0
        for rule, domains in zip(self.rules, self.domains, strict=True):
            if rule.key not in self.table.node(row).labels:
                continue
            size, number = len(domains), domains[self._value(rule, row)]
            if rule.key == HOSTNAME:
                size, number = len(self.scored), rule.counts(list(self.table.pods(row)))
            total += number * log(size + 2) + (rule.max_skew - 1)
        return math.floor(total) + (total - math.floor(total) >= 0.5)

    def scores(self) -> list[int]:
        raw = {row: self._raw(row) for row in self.scored}
        low, high = min(raw.values(), default=0), max(raw.values(), default=0)
        best = {row: 100 * (high + low - score) // high if high else 100 for row, score in raw.items()}
        return [best.get(row, 0) for row in self.rows]


def rules_of(pod: Pod, when: str) -> list[Rule]:
    """The constraints that ``pod`` itself has of one kind."""
    return [Rule(pod, one) for one in pod.spec.topology_spread_constraints if one.when_unsatisfiable == when]
