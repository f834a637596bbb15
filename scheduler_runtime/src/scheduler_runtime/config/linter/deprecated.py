"""What Kubernetes has deprecated and still reads, and what it reads without looking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from scheduler_runtime.catalog.args import PodTopologySpreadArgs
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import DocumentInput, EffectiveInput

LABELS: Mapping[str, str] = MappingProxyType(
    {
        "beta.kubernetes.io/arch": "kubernetes.io/arch",
        "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/os": "kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    }
)
"""Labels of nodes that are deprecated, and what replaces them."""


@check(
    Code(
        "DeprecatedField",
        Severity.WARNING,
        "A value or a node label is used that Kubernetes has deprecated: new nodes need not have it.",
        "Use what replaces it; the finding says what that is.",
    )
)
def deprecated_label(meaning: EffectiveInput) -> Iterator[Match]:
    for plugin in ("NodeAffinity", "PodTopologySpread"):
        if plugin in meaning.running.names:
            path, args = meaning.entry(plugin)
            for place, label in _labels(args, path):
                field = place.rpartition(".")[2]
                yield Match(place, f"the label {label} is deprecated", f"{field}: {LABELS[label]}")


def _labels(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every deprecated label in ``value`` that is asked for, with its path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("key", "topologyKey") and inner in LABELS:
                yield f"{path}.{name}", inner
            yield from _labels(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _labels(inner, f"{path}[{index}]")


@check(deprecated_label.code)
def deprecated_lock(whole: DocumentInput) -> Iterator[Match]:
    lease = whole.document.leader_election
    if lease.resource_lock not in ("", "leases"):
        message = f"{lease.resource_lock} is no lock any more; it goes unnoticed only while leaderElect is false"
        yield Match("leaderElection.resourceLock", message, "resourceLock: leases")


@check(
    Code(
        "SpreadFieldIgnored",
        Severity.ERROR,
        "A default spread constraint says what the API server would refuse in a pod; here it is passed over.",
        "Write Honor or Ignore as a policy, and minDomains only with DoNotSchedule, 1 or more.",
    )
)
def spread_field_ignored(meaning: EffectiveInput) -> Iterator[Match]:
    args = meaning.args("PodTopologySpread")
    if not isinstance(args, PodTopologySpreadArgs):
        return
    for index, constraint in enumerate(args.default_constraints):
        path = f"{meaning.entry('PodTopologySpread')[0]}.defaultConstraints[{index}]"
        policies = {
            "nodeAffinityPolicy": constraint.node_affinity_policy,
            "nodeTaintsPolicy": constraint.node_taints_policy,
        }
        for field, policy in policies.items():
            if policy not in (None, "Honor", "Ignore"):
                yield Match(f"{path}.{field}", f"{policy!r} is read as Ignore", f"{field}: Honor")
        domains = constraint.min_domains
        if domains is not None and (domains < 1 or constraint.when_unsatisfiable != "DoNotSchedule"):
            message = f"{domains} has no meaning with {constraint.when_unsatisfiable}"
            yield Match(f"{path}.minDomains", message, "remove this line")
