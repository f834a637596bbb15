"""Index of pods by label: the rows with pods that may match a selector, so that not every pod is looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table.pod_selectors import NO_LABELS, PodSelector

MAX_KEYS = 32
"""Pods are filed by at most so many labels; the one that was not asked for the longest is dropped."""
_EVERY_POD = ""
"""Stands for a label that every pod has, with this same text as its value: for selectors by namespace alone."""
_EVERY_KEY = "*"
"""Stands for a label that has the keys of a pod's labels as its values: for selectors by the existence of a label."""

_CountByRow = dict[int, int]
_PodsByValue = dict[str, dict[str, _CountByRow]]
"""By the value of one label, then by namespace."""


class PodsByLabel:
    """Files pods by a label as soon as a selector asks for it."""

    def __init__(self, pods: Sequence[dict[str, Pod]]) -> None:
        """``pods`` are those in each row."""
        self._pods = pods
        self.by_key: OrderedDict[str, _PodsByValue] = OrderedDict()
        """Empty as long as no selector has asked."""

    def rows(self, selectors: Sequence[PodSelector]) -> Iterable[int]:
        """Rows among which are all with pods that all ``selectors`` match."""
        if not selectors:
            return range(len(self._pods))
        selector, key, values = self._narrowest(selectors)
        by_value = self._pods_by_value(key)
        rows: set[int] = set()
        for value in values:
            by_namespace = by_value.get(value, {})
            namespaces = by_namespace if selector.namespaces is None else selector.namespaces
            for namespace in namespaces:
                rows.update(by_namespace.get(namespace, ()))
        return rows

    def count(self, row: int, pod: Pod, change: int) -> None:
        """Count a pod in a row (1), or take it back (-1)."""
        for key, by_value in self.by_key.items():
            _count(by_value, key, row, pod, change)

    def _narrowest(self, selectors: Iterable[PodSelector]) -> tuple[PodSelector, str, Iterable[str]]:
        """A selector, and a label with values of which a pod must have one; preferably one that pods are filed by."""
        choices = [
            (selector, requirement.key, requirement.values)
            for selector in selectors
            for requirement in selector.requirements
            if requirement.operator == "In"
        ]
        if not choices:
            for selector in selectors:
                for requirement in selector.requirements:
                    if requirement.operator == "Exists":
                        return selector, _EVERY_KEY, (requirement.key,)
            return next(iter(selectors)), _EVERY_POD, (_EVERY_POD,)
        return next((choice for choice in choices if choice[1] in self.by_key), choices[0])

    def _pods_by_value(self, key: str) -> _PodsByValue:
        by_value = self.by_key.get(key)
        if by_value is None:
            by_value = self.by_key[key] = {}
            for row, pods in enumerate(self._pods):
                for pod in pods.values():
                    _count(by_value, key, row, pod, 1)
            if len(self.by_key) > MAX_KEYS:
                self.by_key.popitem(last=False)
        self.by_key.move_to_end(key)
        return by_value


def _count(by_value: _PodsByValue, key: str, row: int, pod: Pod, change: int) -> None:
    labels = pod.metadata.labels or NO_LABELS
    if key == _EVERY_KEY:
        for label in labels:
            _count_value(by_value, label, row, pod, change)
        return
    value = _EVERY_POD if key == _EVERY_POD else labels.get(key)
    if value is not None:
        _count_value(by_value, value, row, pod, change)


def _count_value(by_value: _PodsByValue, value: str, row: int, pod: Pod, change: int) -> None:
    by_namespace = by_value.setdefault(value, {})
    rows = by_namespace.setdefault(pod.metadata.namespace, {})
    number = rows.get(row, 0) + change
    if number:
        rows[row] = number
        return
    del rows[row]
    if not rows:
        del by_namespace[pod.metadata.namespace]
    if not by_namespace:
        del by_value[value]
