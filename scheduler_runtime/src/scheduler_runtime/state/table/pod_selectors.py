"""Selectors of pods by namespace and labels, read once and compared as values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from msgspec import Struct

from scheduler_runtime.catalog.syntax import label_problem
from scheduler_runtime.state.objects import LabelSelector, Pod

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_FEW = 8
"""So many requirements are looked at one after the other."""


class SelectorError(ValueError):
    """A label selector that cannot be read. ``path`` is the place in the selector, ``reason`` the explanation."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path.lstrip('.')}: {reason}")
        self.path = path
        self.reason = reason


# Structs and no dataclasses: a user may write thousands in one pod, and making a dataclass takes ten times as long.


class Requirement(Struct, frozen=True, gc=False):
    """One condition on a label."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """True if the condition holds for these ``labels``."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                # Also without the label: labels.Requirement.Matches in apimachinery.
                return value not in self.values
            case "Exists":
                return value is not None
        return value is None


class Requirements(tuple[Requirement, ...]):
    """Conditions that must all hold. An empty tuple holds for everything."""

    _by_key: _RequirementsByKey | None = None

    def hold(self, labels: Mapping[str, str]) -> bool:
        """True if all of them hold for these ``labels``."""
        if len(self) > _FEW:
            by_key = self._by_key
            if by_key is None:
                by_key = self._by_key = _RequirementsByKey(self)
            return by_key.hold(labels)
        return all(requirement.holds(labels) for requirement in self)


class _RequirementsByKey:
    """Many requirements, by the labels that they are about.

    A user may write thousands of them, and they are compared with each pod. The time depends on the labels of the pod:
    those that it must have are more than it has, or few, and others do not matter unless it has them.
    """

    __slots__ = ("_excluded", "_required")

    def __init__(self, requirements: Requirements) -> None:
        self._required: dict[str, frozenset[str] | None] = {}
        """The values of which a label must have one; None for any."""
        excluded: dict[str, set[str] | None] = {}
        for requirement in requirements:
            key, values = requirement.key, requirement.values
            match requirement.operator:
                case "In":
                    others = self._required.get(key)
                    self._required[key] = values if others is None else values & others
                case "Exists":
                    self._required.setdefault(key, None)
                case "NotIn":
                    known = excluded.setdefault(key, set())
                    if known is not None:
                        known.update(values)
                case _:
                    excluded[key] = None
        self._excluded = excluded
        """The values that a label must not have; None for any."""

    def hold(self, labels: Mapping[str, str]) -> bool:
        if len(self._required) > len(labels):
            return False
        for key, values in self._required.items():
            value = labels.get(key)
            if value is None or (values is not None and value not in values):
                return False
        if self._excluded:
            for key in labels.keys() & self._excluded.keys():
                unwanted = self._excluded[key]
                if unwanted is None or labels[key] in unwanted:
                    return False
        return True


NO_REQUIREMENTS: Final = Requirements()


def read_requirements(selector: LabelSelector | None) -> Requirements | None:
    """Read ``selector``, sorted; None for a missing one, which matches nothing. Raises SelectorError."""
    if selector is None:
        return None
    requirements = []
    for key, value in (selector.match_labels or {}).items():
        _check(key, "In", (value,), f".matchLabels[{key}]")
        requirements.append(Requirement(key, "In", frozenset((value,))))
    for index, expression in enumerate(selector.match_expressions):
        _check(expression.key, expression.operator, expression.values, f".matchExpressions[{index}]")
        requirements.append(Requirement(expression.key, expression.operator, frozenset(expression.values)))
    if len(requirements) > 1:
        requirements.sort(key=lambda one: (one.key, one.operator, sorted(one.values)))
    return Requirements(requirements)


def _check(key: str, operator: str, values: tuple[str, ...], path: str) -> None:
    if operator not in _OPERATORS:
        raise SelectorError(
            f"{path}.operator", f"{operator!r} is not an operator; the operators are {', '.join(_OPERATORS)}"
        )
    problem = label_problem(key, operator, values)
    if problem is not None:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem[0])
        raise SelectorError(path + place, problem[1])


class PodSelector(Struct, frozen=True, cache_hash=True, gc=False):
    """Pods in some namespaces, or in any when that is None, whose labels meet all requirements."""

    namespaces: frozenset[str] | None
    requirements: Requirements

    def matches(self, pod: Pod) -> bool:
        """True if ``pod`` is one of them."""
        metadata = pod.metadata
        if self.namespaces is not None and metadata.namespace not in self.namespaces:
            return False
        return self.requirements.hold(metadata.labels or NO_LABELS)


def all_of(selectors: Sequence[PodSelector]) -> PodSelector:
    """The pods that each of the selectors, of which there is at least one, matches."""
    if len(selectors) == 1:
        return selectors[0]
    namespaces: frozenset[str] | None = None
    for selector in selectors:
        if selector.namespaces is not None:
            namespaces = selector.namespaces if namespaces is None else namespaces & selector.namespaces
    return PodSelector(namespaces, Requirements(one for selector in selectors for one in selector.requirements))


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Label = tuple[str, str]


class LabelIndex(Generic[K, V]):
    """Values with requirements, found by the labels that may meet them without looking at every value.

    Each value is filed under the labels that its first ``In`` allows. One without ``In`` is always a candidate.
    """

    def __init__(self) -> None:
        self._by_label: dict[Label, dict[K, V]] = {}
        self._without_label: dict[K, V] = {}

    def __bool__(self) -> bool:
        return bool(self._by_label or self._without_label)

    def add(self, requirements: Iterable[Requirement], key: K, value: V) -> None:
        """File ``value`` by its ``requirements``."""
        labels = _required_labels(requirements)
        for label in labels:
            self._by_label.setdefault(label, {})[key] = value
        if not labels:
            self._without_label[key] = value

    def remove(self, requirements: Iterable[Requirement], key: K) -> None:
        """Remove the value that was filed under ``key`` with these ``requirements``; it may be removed already."""
        labels = _required_labels(requirements)
        for label in labels:
            values = self._by_label.get(label)
            if values is not None:
                values.pop(key, None)
                if not values:
                    del self._by_label[label]
        if not labels:
            self._without_label.pop(key, None)

    def candidates(self, pod: Pod) -> Iterator[tuple[K, V]]:
        """All values whose requirements the labels of ``pod`` may meet.

        None comes twice that is filed once: the labels that it is filed under share their key, and a pod has one of
        them at most.
        """
        yield from self._without_label.items()
        if self._by_label:
            for label in (pod.metadata.labels or NO_LABELS).items():
                values = self._by_label.get(label)
                if values:
                    yield from values.items()


def _required_labels(requirements: Iterable[Requirement]) -> tuple[Label, ...]:
    """Labels, one of which a pod must have to meet ``requirements``; empty when there is no such set."""
    for requirement in requirements:
        if requirement.operator == "In":
            return tuple([(requirement.key, value) for value in requirement.values])
    return ()
