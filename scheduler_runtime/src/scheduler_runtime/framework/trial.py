"""One node as it would be with other pods on it: what the filters say of it for the pod that is being placed.

Preemption asks this hundreds of times in a decision, so what cannot change is asked once: plugins that do not look at
pods say the same of a node whichever pods are on it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from ..api import NodeTable, Plugin, Pod, Reject, hooks_of
from ..nominations import Nominations
from ..table import Table
from .outcomes import PluginError

Change = Callable[[Pod, NodeTable, Any, Pod, int], Any]
Judged = tuple[str, Sequence[Reject]]
"""A plugin and why it rejects a node; without reasons nobody does."""
_FITS: Judged = ("", ())


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A plugin's filter, asked about one row."""

    plugin: str
    hook: str
    judge: Callable[[Pod, NodeTable, Any, int], Iterable[Reject]]
    looks_at_pods: bool
    add_pod: Change | None
    remove_pod: Change | None


def row_filter(name: str, plugin: Plugin) -> RowFilter:
    """How to ask ``plugin``, which has a filter, about one row."""
    hooks = hooks_of(type(plugin))
    has_own = "filter_row" in hooks
    return RowFilter(
        plugin=name,
        hook="filter_row" if has_own else "filter",
        judge=plugin.filter_row if has_own else _by_filter(plugin),
        looks_at_pods=type(plugin).looks_at_pods,
        add_pod=plugin.add_pod if "add_pod" in hooks else None,
        remove_pod=plugin.remove_pod if "remove_pod" in hooks else None,
    )


def _by_filter(plugin: Plugin) -> Callable[[Pod, NodeTable, Any, int], Iterable[Reject]]:
    def judge(pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterable[Reject]:
        for reject in plugin.filter(pod, nodes, state):
            if reject.rows is True or reject.rows[row]:
                where = reject.resolvable
                yield Reject(
                    True, reject.reason, where if isinstance(where, bool) else bool(where[row]), reject.pending
                )

    return judge


class Trials:
    """The nodes that are tried one by one for a pod."""

    __slots__ = ("_filters", "_moving", "nodes", "nominations", "pod", "states", "table")

    def __init__(
        self,
        pod: Pod,
        table: Table,
        filters: Iterable[RowFilter],
        states: Mapping[str, Any],
        nominations: Nominations,
    ) -> None:
        """``filters`` are those that no ``pre_filter`` left out, and ``states`` what these returned."""
        self.pod = pod
        self.table = table
        self.nodes = NodeTable(table, np.ones(len(table), np.bool_))
        self.states = states
        self.nominations = nominations
        self._filters = tuple(filters)
        self._moving = tuple(each for each in self._filters if each.looks_at_pods)

    def trial(self, row: int) -> RowTrial:
        """Try the node in ``row``."""
        return RowTrial(self, row, self._filters, self._moving)

    def counted(self, node: str) -> list[Pod]:
        """The pods nominated to ``node`` for which room must be left."""
        if not self.nominations:
            return []
        priority = self.pod.spec.priority
        return [pod for pod in self.nominations.to(node) if pod.spec.priority >= priority and pod.uid != self.pod.uid]


class RowTrial:
    """One node, with other pods on it. The table is as before when the ``with`` ends."""

    __slots__ = ("_trials", "_filters", "_moving", "_nominated", "_row", "_states", "_tried")

    def __init__(
        self, trials: Trials, row: int, filters: tuple[RowFilter, ...], moving: tuple[RowFilter, ...]
    ) -> None:
        self._trials = trials
        self._row = row
        self._filters = filters
        self._moving = moving
        self._states: dict[str, Any] = {}
        self._nominated = trials.counted(trials.table.names[row])
        self._tried = trials.table.try_row(row)

    def __enter__(self) -> RowTrial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tried.restore()

    def remove(self, pod: Pod) -> None:
        """Take ``pod`` off the node. Raises KeyError when it is not there."""
        self._tried.remove(pod)
        for each in self._moving:
            if each.remove_pod:
                self._change(each, each.remove_pod, "remove_pod", pod)

    def add(self, pod: Pod) -> None:
        """Put ``pod`` on the node."""
        self._tried.add(pod)
        for each in self._moving:
            if each.add_pod:
                self._change(each, each.add_pod, "add_pod", pod)

    def rejections(self) -> Sequence[Reject]:
        """Why the pod could not be on the node now; nothing when it could."""
        return self.judge()[1]

    def judge(self) -> Judged:
        """The first plugin that rejects the node now, with and without the pods nominated to it, and why."""
        if self._nominated:
            judged = self._with_nominated()
            if judged[1]:
                return judged
        return self._ask()

    def _with_nominated(self) -> Judged:
        before = self._states
        self._states = {name: _clone(state) for name, state in before.items()}
        for pod in self._nominated:
            self.add(pod)
        try:
            return self._ask()
        finally:
            for pod in self._nominated:
                self._tried.remove(pod)
            self._states = before

    def _ask(self) -> Judged:
        trials, row = self._trials, self._row
        pod, nodes, own, states = trials.pod, trials.nodes, self._states, trials.states
        for each in self._filters:
            name = each.plugin
            try:
                found = list(each.judge(pod, nodes, own[name] if name in own else states.get(name), row))
            except Exception as error:
                raise PluginError(name, each.hook, error) from error
            if found:
                return name, found
        self._filters = self._moving  # The others said all they have to say: nothing against this node.
        return _FITS

    def _change(self, each: RowFilter, change: Change, hook: str, other: Pod) -> None:
        trials, name = self._trials, each.plugin
        state = self._states[name] if name in self._states else _clone(trials.states.get(name))
        try:
            self._states[name] = change(trials.pod, trials.nodes, state, other, self._row)
        except Exception as error:
            raise PluginError(name, hook, error) from error


def _clone(state: Any) -> Any:
    clone = getattr(state, "clone", None)
    return copy.copy(state) if clone is None else clone()
