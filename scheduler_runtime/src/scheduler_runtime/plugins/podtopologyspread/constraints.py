"""Spread constraints as they are judged: selectors read, defaults filled in, each kind apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from scheduler_runtime.state.objects import Pod, TopologySpreadConstraint
from scheduler_runtime.state.table import (
    PodSelection,
    PodSelector,
    Requirement,
    Requirements,
    SelectorError,
    requirements_of,
)
from scheduler_runtime.state.table.pod_selectors import NO_LABELS

HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
_PATH = "spec.topologySpreadConstraints"
_POLICIES = ("Honor", "Ignore")


class ConstraintError(ValueError):
    """A spread constraint of a pod that cannot be read; the text names the field."""


class Written(Protocol):
    """A spread constraint as a pod or the arguments have it, apart from what it selects."""

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


@dataclass(frozen=True, slots=True)
class Constraint:
    """How evenly the pods that ``selector`` matches are to be spread over the values of the label ``key``."""

    key: str
    max_skew: int
    min_domains: int
    honors_affinity: bool
    """Whether only nodes that the pod's selector and affinity allow count."""
    honors_taints: bool
    """Whether only nodes whose taints the pod tolerates count."""
    selector: PodSelector | None
    """None matches no pod."""
    counted: PodSelection | None = field(init=False)
    """The pods that are counted; None when none is. Upstream counts none for a selector that matches every pod."""

    def __post_init__(self) -> None:
        has_any = self.selector is not None and bool(self.selector.requirements)
        population = PodSelection((self.selector,), living=True) if self.selector and has_any else None
        object.__setattr__(self, "counted", population)

    def selects(self, pod: Pod) -> bool:
        """Whether ``pod`` is among those to be spread, counted or not."""
        return self.selector is not None and self.selector.matches(pod)


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a pod must keep to, and what it would rather."""

    hard: tuple[Constraint, ...]
    soft: tuple[Constraint, ...]


def read_constraints(pod: Pod, *, with_match_label_keys: bool) -> Constraints:
    """The constraints of ``pod`` itself. Raises ConstraintError."""
    found: dict[str, list[Constraint]] = {HARD: [], SOFT: []}
    for index, written in enumerate(pod.spec.topology_spread_constraints):
        path = f"{_PATH}[{index}]"
        _check(written, path)
        keys = written.match_label_keys if with_match_label_keys else ()
        requirements = _requirements(written, keys, pod.metadata.labels or NO_LABELS, path)
        selector = None if requirements is None else in_namespace(pod.metadata.namespace, requirements)
        found[written.when_unsatisfiable].append(constraint(written, selector))
    return Constraints(tuple(found[HARD]), tuple(found[SOFT]))


def default_constraints(written: Sequence[Written], selector: PodSelector) -> Constraints:
    """The constraints of the arguments for the pods that ``selector`` matches."""
    hard = (constraint(each, selector) for each in written if each.when_unsatisfiable == HARD)
    soft = (constraint(each, selector) for each in written if each.when_unsatisfiable == SOFT)
    return Constraints(tuple(hard), tuple(soft))


def constraint(written: Written, selector: PodSelector | None) -> Constraint:
    """``written`` with upstream's defaults for what it leaves out."""
    return Constraint(
        key=written.topology_key,
        max_skew=written.max_skew,
        min_domains=1 if written.min_domains is None else written.min_domains,
        honors_affinity=(written.node_affinity_policy or "Honor") == "Honor",
        honors_taints=written.node_taints_policy == "Honor",
        selector=selector,
    )


def in_namespace(namespace: str, requirements: Requirements) -> PodSelector:
    """The pods of one namespace that meet ``requirements``."""
    return PodSelector(frozenset((namespace,)), requirements)


def matching_labels(labels: Iterable[tuple[str, str]]) -> Iterator[Requirement]:
    """One requirement for each label."""
    return (Requirement(key, "In", frozenset((value,))) for key, value in labels)


def _requirements(
    written: TopologySpreadConstraint, keys: Iterable[str], labels: Mapping[str, str], path: str
) -> Requirements | None:
    """What pods must meet to count, the pod's own values of ``matchLabelKeys`` included.

    Newer API servers have merged these into the selector already; doing it twice changes nothing.
    """
    try:
        requirements = requirements_of(written.label_selector)
    except SelectorError as error:
        raise ConstraintError(f"{path}.labelSelector{error.at}: {error.why}") from error
    if requirements is None:
        return None
    own = matching_labels((key, labels[key]) for key in keys if key in labels)
    return tuple(dict.fromkeys((*own, *requirements)))


def _check(written: TopologySpreadConstraint, path: str) -> None:
    for name, value, known in (
        ("whenUnsatisfiable", written.when_unsatisfiable, (HARD, SOFT)),
        ("nodeAffinityPolicy", written.node_affinity_policy, (None, *_POLICIES)),
        ("nodeTaintsPolicy", written.node_taints_policy, (None, *_POLICIES)),
    ):
        if value not in known:
            wanted = " or ".join(each for each in known if each)
            raise ConstraintError(f"{path}.{name}: {value!r} is not known; it is {wanted}")
