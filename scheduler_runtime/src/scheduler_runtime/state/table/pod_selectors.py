"""Selectors of pods by namespace and labels, read once and compared as values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from scheduler_runtime.catalog.checks import label_problem
from scheduler_runtime.state.objects import LabelSelector, Pod
from scheduler_runtime.state.table.cached_hash import hashed_once

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class SelectorError(ValueError):
    """A label selector that cannot be read: ``at`` is where in it, the text says why."""

    def __init__(self, at: str, why: str) -> None:
        super().__init__(f"{at.lstrip('.')}: {why}")
        self.at = at
        self.why = why


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether it holds for these ``labels``."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values  # Also without the label, as upstream has it.
            case "Exists":
                return value is not None
        return value is None


Requirements = tuple[Requirement, ...]
"""Conditions that must all hold. Without any they hold for everything."""


def requirements_of(selector: LabelSelector | None) -> Requirements | None:
    """Read ``selector``; None when there is none, which matches nothing. Raises SelectorError."""
    if selector is None:
        return None
    found = []
    for key, value in (selector.match_labels or {}).items():
        _check(key, "In", (value,), f".matchLabels[{key}]")
        found.append(Requirement(key, "In", frozenset((value,))))
    for index, each in enumerate(selector.match_expressions):
        _check(each.key, each.operator, each.values, f".matchExpressions[{index}]")
        found.append(Requirement(each.key, each.operator, frozenset(each.values)))
    return tuple(sorted(found, key=lambda each: (each.key, each.operator, sorted(each.values))))


def _check(key: str, operator: str, values: tuple[str, ...], at: str) -> None:
    if operator not in _OPERATORS:
        raise SelectorError(
            f"{at}.operator", f"{operator!r} is not an operator; the operators are {', '.join(_OPERATORS)}"
        )
    problem = label_problem(key, operator, values)
    if problem is not None:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem[0])
        raise SelectorError(at + place, problem[1])


def hold(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Whether all ``requirements`` hold for these ``labels``."""
    return all(requirement.holds(labels) for requirement in requirements)


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Label = tuple[str, str]


class ByLabels(Generic[K, V]):
    """Finds what has requirements by the labels that may meet them, without looking at everything.

    Each entry is filed under the values that its first ``In`` allows; one without ``In`` is a candidate always.
    """

    def __init__(self) -> None:
        self._anchored: dict[Label, dict[K, V]] = {}
        self._floating: dict[K, V] = {}

    def add(self, requirements: Requirements, key: K, value: V) -> None:
        """File ``value`` under what ``requirements`` ask for."""
        for label in _anchors(requirements):
            self._anchored.setdefault(label, {})[key] = value
        if not _anchors(requirements):
            self._floating[key] = value

    def remove(self, requirements: Requirements, key: K) -> None:
        """Take back what was filed under ``key`` with these ``requirements``."""
        for label in _anchors(requirements):
            del self._anchored[label][key]
            if not self._anchored[label]:
                del self._anchored[label]
        if not _anchors(requirements):
            del self._floating[key]

    def candidates(self, pod: Pod) -> Iterator[tuple[K, V]]:
        """What the labels of ``pod`` may meet; each once, because the labels of an entry share their key."""
        yield from self._floating.items()
        if self._anchored:
            for label in (pod.metadata.labels or NO_LABELS).items():
                found = self._anchored.get(label)
                if found:
                    yield from found.items()


def _anchors(requirements: Requirements) -> tuple[Label, ...]:
    """The labels of which one must be there for ``requirements`` to hold; none when there is no such set."""
    for requirement in requirements:
        if requirement.operator == "In":
            return tuple((requirement.key, value) for value in requirement.values)
    return ()


@hashed_once
@dataclass(frozen=True, slots=True)
class PodSelector:
    """Pods in some namespaces (None: in any) whose labels meet all requirements."""

    namespaces: frozenset[str] | None
    requirements: Requirements
    _hash: int = field(init=False, repr=False, compare=False)

    def matches(self, pod: Pod) -> bool:
        """Whether ``pod`` is one of them."""
        metadata = pod.metadata
        return self.matches_labels(metadata.namespace, metadata.labels or NO_LABELS)

    def matches_labels(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod of this namespace with these labels is one of them."""
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return hold(self.requirements, labels)
