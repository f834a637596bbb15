"""Spread constraints of a pod, read once: selectors as requirements, defaults filled in, hard and soft ones apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec import Struct

from scheduler_runtime.state.objects import Pod, TopologySpreadConstraint
from scheduler_runtime.state.table import (
    NO_LABELS,
    PodSelection,
    PodSelector,
    Requirement,
    Requirements,
    SelectorError,
    read_requirements,
)

HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
_PATH = "spec.topologySpreadConstraints"
_POLICIES = ("Honor", "Ignore")


class ConstraintError(ValueError):
    """A spread constraint of a pod that cannot be read; the text names the field."""


class ConstraintFields(Protocol):
    """A spread constraint as pods and arguments have it, apart from its selector."""

    @property
    def max_skew(self) -> int: ...
    @property
    def topology_key(self) -> str: ...
    @property
    def when_unsatisfiable(self) -> str: ...
    @property
    def min_domains(self) -> int | None: ...
    @property
    def node_affinity_policy(self) -> str | None: ...
    @property
    def node_taints_policy(self) -> str | None: ...


class Constraint(Struct, frozen=True, gc=False):
    """The largest difference allowed between the domains: the values of the label ``key``."""

    key: str
    max_skew: int
    min_domains: int
    honors_affinity: bool
    """True if only nodes that the pod's selector and affinity allow count."""
    honors_taints: bool
    """True if only nodes whose taints the pod tolerates count."""
    selector: PodSelector | None
    """The pods to be spread; None matches no pod."""
    counted: PodSelection | None = None
    """The pods that are counted; None when none is.

    Upstream's countPodsMatchSelector leaves out pods that are being deleted, and counts none for a selector that
    matches every pod.
    """

    def selects(self, pod: Pod) -> bool:
        """True if ``pod`` is among those to be spread, counted or not."""
        return self.selector is not None and self.selector.matches(pod)


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints of a pod: hard ones for the filter, soft ones for the score."""

    hard: tuple[Constraint, ...]
    soft: tuple[Constraint, ...]


def read_constraints(pod: Pod, *, with_match_label_keys: bool) -> Constraints:
    """Read the constraints of ``pod`` itself. Raises ConstraintError."""
    by_kind: dict[str, list[Constraint]] = {HARD: [], SOFT: []}
    for index, fields in enumerate(pod.spec.topology_spread_constraints):
        path = f"{_PATH}[{index}]"
        _check(fields, path)
        keys = fields.match_label_keys if with_match_label_keys else ()
        requirements = _read_requirements(fields, keys, pod.metadata.labels or NO_LABELS, path)
        selector = None if requirements is None else in_namespace(pod.metadata.namespace, requirements)
        by_kind[fields.when_unsatisfiable].append(_with_defaults(fields, selector))
    return Constraints(tuple(by_kind[HARD]), tuple(by_kind[SOFT]))


def default_constraints(defaults: Sequence[ConstraintFields], selector: PodSelector) -> Constraints:
    """The constraints of the arguments, for the pods that ``selector`` matches."""
    hard = (_with_defaults(fields, selector) for fields in defaults if fields.when_unsatisfiable == HARD)
    soft = (_with_defaults(fields, selector) for fields in defaults if fields.when_unsatisfiable == SOFT)
    return Constraints(tuple(hard), tuple(soft))


def in_namespace(namespace: str, requirements: Requirements) -> PodSelector:
    """The pods of one namespace that meet ``requirements``."""
    return PodSelector(frozenset((namespace,)), requirements)


def equal_labels(labels: Iterable[tuple[str, str]]) -> Iterator[Requirement]:
    """A requirement for each label: to be equal."""
    return (Requirement(key, "In", frozenset((value,))) for key, value in labels)


def _with_defaults(fields: ConstraintFields, selector: PodSelector | None) -> Constraint:
    """``fields`` with upstream's defaults for those that are missing."""
    return Constraint(
        key=fields.topology_key,
        max_skew=fields.max_skew,
        min_domains=1 if fields.min_domains is None else fields.min_domains,
        honors_affinity=(fields.node_affinity_policy or "Honor") == "Honor",
        honors_taints=fields.node_taints_policy == "Honor",
        selector=selector,
        counted=PodSelection((selector,), without_terminating=True) if selector and selector.requirements else None,
    )


def _read_requirements(
    fields: TopologySpreadConstraint, keys: Iterable[str], labels: Mapping[str, str], path: str
) -> Requirements | None:
    """The conditions for pods to count, the pod's own values of ``matchLabelKeys`` included.

    Newer API servers have merged these into the selector already (KEP-3243); doing it twice changes nothing.
    """
    try:
        requirements = read_requirements(fields.label_selector)
    except SelectorError as error:
        raise ConstraintError(f"{path}.labelSelector{error.path}: {error.reason}") from error
    if requirements is None:
        return None
    own = equal_labels((key, labels[key]) for key in keys if key in labels)
    return Requirements(dict.fromkeys((*own, *requirements)))


def _check(fields: TopologySpreadConstraint, path: str) -> None:
    for name, value, allowed in (
        ("whenUnsatisfiable", fields.when_unsatisfiable, (HARD, SOFT)),
        ("nodeAffinityPolicy", fields.node_affinity_policy, (None, *_POLICIES)),
        ("nodeTaintsPolicy", fields.node_taints_policy, (None, *_POLICIES)),
    ):
        if value not in allowed:
            choices = " or ".join(choice for choice in allowed if choice)
            raise ConstraintError(f"{path}.{name}: {value!r} is not known; it is {choices}")
