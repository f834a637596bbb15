"""Selectors of pods by namespace and labels, read once and compared as values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Generic, TypeVar, cast

from scheduler_runtime.catalog.syntax import label_problem
from scheduler_runtime.state.objects import LabelSelector, Pod

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_T = TypeVar("_T")


def cache_hash(cls: type[_T]) -> type[_T]:
    """Make the frozen dataclass ``cls`` compute an instance's hash once, and store it in the field ``_hash``.

    For values that are looked up again and again in dictionaries and contain many others.
    """
    compute_hash = cast("Callable[[object], int]", cls.__hash__)

    def cached_hash(self: object) -> int:
        try:
            result: int = self._hash  # type: ignore[attr-defined]
        except AttributeError:
            result = compute_hash(self)
            object.__setattr__(self, "_hash", result)
        return result

    cls.__hash__ = cached_hash  # type: ignore[method-assign]
    return cls


class SelectorError(ValueError):
    """A label selector that cannot be read. ``path`` is the place in the selector, ``reason`` the explanation."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path.lstrip('.')}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Requirement:
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


Requirements = tuple[Requirement, ...]
"""Conditions that must all hold. An empty tuple holds for everything."""


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
    return tuple(sorted(requirements, key=lambda one: (one.key, one.operator, sorted(one.values))))


def _check(key: str, operator: str, values: tuple[str, ...], path: str) -> None:
    if operator not in _OPERATORS:
        raise SelectorError(
            f"{path}.operator", f"{operator!r} is not an operator; the operators are {', '.join(_OPERATORS)}"
        )
    problem = label_problem(key, operator, values)
    if problem is not None:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem[0])
        raise SelectorError(path + place, problem[1])


def all_hold(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """True if all ``requirements`` hold for these ``labels``."""
    return all(requirement.holds(labels) for requirement in requirements)


@cache_hash
@dataclass(frozen=True, slots=True)
class PodSelector:
    """Pods in some namespaces, or in any when that is None, whose labels meet all requirements."""

    namespaces: frozenset[str] | None
    requirements: Requirements
    _hash: int = field(init=False, repr=False, compare=False)

    def matches(self, pod: Pod) -> bool:
        """True if ``pod`` is one of them."""
        metadata = pod.metadata
        if self.namespaces is not None and metadata.namespace not in self.namespaces:
            return False
        return all_hold(self.requirements, metadata.labels or NO_LABELS)


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

    def add(self, requirements: Requirements, key: K, value: V) -> None:
        """File ``value`` by its ``requirements``."""
        labels = _required_labels(requirements)
        for label in labels:
            self._by_label.setdefault(label, {})[key] = value
        if not labels:
            self._without_label[key] = value

    def remove(self, requirements: Requirements, key: K) -> None:
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


def _required_labels(requirements: Requirements) -> tuple[Label, ...]:
    """Labels, one of which a pod must have to meet ``requirements``; empty when there is no such set."""
    for requirement in requirements:
        if requirement.operator == "In":
            return tuple((requirement.key, value) for value in requirement.values)
    return ()
