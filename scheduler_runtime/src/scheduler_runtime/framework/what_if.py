"""One node as it would be with other pods on it: what the filters say of it for the pod that is being placed.

Preemption asks this hundreds of times in a decision, so what cannot change is asked once: plugins that do not look at
pods say the same of a node whichever pods are on it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject, hooks_of
from scheduler_runtime.framework.hook import Hook, caught_exceptions, rejections, row_of_filter
from scheduler_runtime.framework.outcomes import PluginError
from scheduler_runtime.framework.point_metrics import Measures, timed
from scheduler_runtime.framework.what_if_many import NodesWhatIf
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.table import Table

Judged = tuple[str, Sequence[Reject]]
"""A plugin and why it rejects a node; without reasons nobody does."""
_FITS: Judged = ("", ())


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A plugin's filter, asked about one row."""

    judge: Hook
    every: Hook
    """The same about all rows at once."""
    is_row_local: bool
    looks_at_pods: bool
    add_pod: Hook | None
    remove_pod: Hook | None

    @property
    def plugin(self) -> str:
        """The name of the plugin."""
        return self.judge.plugin

    def timed(self, measures: Measures) -> RowFilter:
        """The same, with a clock beside what is asked about one row."""
        return replace(self, judge=timed(self.judge, measures))


def row_filter(hook: Hook, own: Hook | None, plugin: Plugin) -> RowFilter:
    """How to ask ``plugin``, whose filter ``hook`` is, about one row; ``own`` is its ``filter_row`` if it has one."""
    hooks = hooks_of(type(plugin))
    return RowFilter(
        judge=own or row_of_filter(hook),
        every=hook,
        is_row_local=type(plugin).row_local,
        looks_at_pods=type(plugin).looks_at_pods,
        add_pod=Hook(hook.plugin, "add_pod", plugin.add_pod, of=plugin) if "add_pod" in hooks else None,
        remove_pod=Hook(hook.plugin, "remove_pod", plugin.remove_pod, of=plugin) if "remove_pod" in hooks else None,
    )


class WhatIf:
    """The nodes that are tried one by one for a pod."""

    __slots__ = ("_filters", "_moving", "adds", "nodes", "nominations", "pod", "removes", "states", "table")

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
        self.adds = tuple(each.add_pod for each in self._moving if each.add_pod)
        self.removes = tuple(each.remove_pod for each in self._moving if each.remove_pod)

    def trial(self, row: int) -> NodeWhatIf:
        """Try the node in ``row``."""
        return NodeWhatIf(self, row, self._filters, self._moving)

    def together(self, rows: NDArray[np.intp]) -> NodesWhatIf | None:
        """Try the nodes in ``rows`` at once; None when some filter does not look at each node by itself."""
        if self.adds or self.removes or not all(each.is_row_local for each in self._moving):
            return None
        filters = [each.every for each in self._filters], [each.every for each in self._moving]
        return NodesWhatIf(self.pod, self.table, rows, filters, self.states, self.nominations)

    def judge(self, row: int) -> Judged:
        """The first plugin that rejects the node in ``row`` as it is, nominated pods considered, and why."""
        with self.trial(row) as trial:
            return trial.judge()


class NodeWhatIf:
    """One node, with other pods on it. The table is as before when the ``with`` ends."""

    __slots__ = ("_filters", "_moving", "_nominated", "_row", "_states", "_trials", "_tried")

    def __init__(self, trials: WhatIf, row: int, filters: tuple[RowFilter, ...], moving: tuple[RowFilter, ...]) -> None:
        self._trials = trials
        self._row = row
        self._filters = filters
        self._moving = moving
        self._states: dict[str, Any] = {}
        self._nominated = trials.nominations.competing_with(trials.pod, trials.table.names[row])
        self._tried = trials.table.hypothetical_node(row)

    def __enter__(self) -> NodeWhatIf:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tried.restore()

    def remove(self, *pods: Pod) -> None:
        """Take ``pods`` off the node. Raises KeyError when one is not there."""
        self._tried.remove(*pods)
        for change in self._trials.removes:
            for pod in pods:
                self._change(change, pod)

    def add(self, pod: Pod) -> None:
        """Put ``pod`` on the node."""
        self._tried.add(pod)
        for change in self._trials.adds:
            self._change(change, pod)

    def fits(self) -> bool:
        """Whether the pod could be on the node now."""
        return not self.judge()[1]

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
        self._states = {name: _clone(name, state) for name, state in before.items()}
        for pod in self._nominated:
            self.add(pod)
        try:
            return self._ask()
        finally:
            self._tried.remove(*self._nominated)
            self._states = before

    def _ask(self) -> Judged:
        trials, row = self._trials, self._row
        pod, nodes, own, states = trials.pod, trials.nodes, self._states, trials.states
        for each in self._filters:
            judge = each.judge
            name = judge.plugin
            found = rejections(judge, pod, nodes, own[name] if name in own else states.get(name), row)
            if found:
                return name, found
        self._filters = self._moving  # The others said all they have to say: nothing against this node.
        return _FITS

    def _change(self, change: Hook, other: Pod) -> None:
        trials, name = self._trials, change.plugin
        state = self._states[name] if name in self._states else _clone(name, trials.states.get(name))
        self._states[name] = change(trials.pod, trials.nodes, state, other, self._row)


def _clone(plugin: str, state: Any) -> Any:
    own = getattr(state, "clone", None) or getattr(state, "copy", None)
    try:
        return own() if callable(own) else copy.copy(state)
    except caught_exceptions() as error:
        raise PluginError(plugin, "pre_filter", f"its state cannot be copied: {error}") from error
