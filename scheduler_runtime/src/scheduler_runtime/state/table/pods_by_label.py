"""On which nodes there are pods with a label at all, so that not all pods are looked at to count a few."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table.pod_selectors import NO_LABELS, PodSelector

MAX_KEYS = 32
"""By as many labels pods are filed; the one that was not asked for the longest is given up."""
_ANY = ""
"""Stands for a label that every pod has, without a value: for selectors that go by the namespace alone."""

_Rows = dict[int, int]
"""How many pods there are in a row."""
_Filed = dict[str, dict[str, _Rows]]
"""By the value of the label, then by namespace."""


class PodsByLabel:
    """Files pods by the labels that selectors ask for, as soon as one does."""

    def __init__(self, pods: Sequence[dict[str, Pod]]) -> None:
        """``pods`` are those in each row."""
        self._pods = pods
        self._filed: OrderedDict[str, _Filed] = OrderedDict()

    def rows(self, selectors: Sequence[PodSelector]) -> Iterable[int]:
        """Rows among which are all with pods that all ``selectors`` match."""
        if not selectors:
            return range(len(self._pods))
        selector, key, values = self._anchor(selectors)
        filed = self._by(key)
        found: set[int] = set()
        for value in values:
            by_namespace = filed.get(value, {})
            namespaces = by_namespace if selector.namespaces is None else selector.namespaces
            for namespace in namespaces:
                found.update(by_namespace.get(namespace, ()))
        return found

    def count(self, row: int, pod: Pod, change: int) -> None:
        """A pod came to a row, or left it."""
        for key, filed in self._filed.items():
            _count(filed, key, row, pod, change)

    def _anchor(self, selectors: Iterable[PodSelector]) -> tuple[PodSelector, str, Iterable[str]]:
        """A selector, and a label with the values of which a pod must have one; best one by which pods are filed."""
        anchors = [
            (selector, requirement.key, requirement.values)
            for selector in selectors
            for requirement in selector.requirements
            if requirement.operator == "In"
        ]
        if not anchors:
            return next(iter(selectors)), _ANY, (_ANY,)
        return next((anchor for anchor in anchors if anchor[1] in self._filed), anchors[0])

    def _by(self, key: str) -> _Filed:
        filed = self._filed.get(key)
        if filed is None:
            filed = self._filed[key] = {}
            for row, pods in enumerate(self._pods):
                for pod in pods.values():
                    _count(filed, key, row, pod, 1)
            if len(self._filed) > MAX_KEYS:
                self._filed.popitem(last=False)
        self._filed.move_to_end(key)
        return filed


def _count(filed: _Filed, key: str, row: int, pod: Pod, change: int) -> None:
    value = _ANY if key == _ANY else (pod.metadata.labels or NO_LABELS).get(key)
    if value is None:
        return
    by_namespace = filed.setdefault(value, {})
    rows = by_namespace.setdefault(pod.metadata.namespace, {})
    number = rows.get(row, 0) + change
    if number:
        rows[row] = number
        return
    del rows[row]
    if not rows:
        del by_namespace[pod.metadata.namespace]
    if not by_namespace:
        del filed[value]
