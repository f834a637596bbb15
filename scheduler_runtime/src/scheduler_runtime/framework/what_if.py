"""Nodes with other pods on them: the answers of the filters, then, about the pod that is being placed.

Preemption asks this hundreds of times in a decision, one node at a time (NodeTrial) or many at once (NodesTrial). So
what cannot change is asked once: plugins that do not look at pods answer the same whichever pods are on a node.

Nodes that other pods are nominated to are always judged here. The pod may go there only if those that are at least as
important still fit: the filters run with these pods on the node, and without them, because they may end up elsewhere
(upstream's RunFilterPluginsWithNominatedPods).
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import Mask, NodeTable, Plugin, Pod, Reject
from scheduler_runtime.framework.decision_hooks import run_filter_plugins
from scheduler_runtime.framework.decision_state import DecisionState
from scheduler_runtime.framework.diagnosis import Diagnosis
from scheduler_runtime.framework.hook import (
    UNTIMED,
    Hook,
    HookTimer,
    caught_exceptions,
    collect_rejections,
    filter_row_from_filter,
)
from scheduler_runtime.framework.outcomes import PluginError
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.table import Table

Rejection = tuple[str, Sequence[Reject]]
"""A plugin and its reasons against a node; without reasons the node fits."""
_FITS: Rejection = ("", ())
_FEW_ROWS = 8
"""So few nodes are judged one by one: that costs less than changing them all first."""


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A plugin's filter, asked about one row at a time."""

    row: Hook
    columns: Hook
    """The filter for all rows at once."""
    is_row_local: bool
    looks_at_pods: bool
    add_pod: Hook | None
    remove_pod: Hook | None


def row_filter(columns: Hook, row: Hook | None, plugin: Plugin, timer: HookTimer = UNTIMED) -> RowFilter:
    """Return how to ask ``plugin`` about one row: by ``row``, its ``filter_row``, if it has one."""
    kind, name = type(plugin), columns.plugin
    add = Hook(name, "add_pod", plugin.add_pod, plugin) if kind.add_pod is not Plugin.add_pod else None
    remove = Hook(name, "remove_pod", plugin.remove_pod, plugin) if kind.remove_pod is not Plugin.remove_pod else None
    row = row or filter_row_from_filter(columns, timer)
    return RowFilter(row, columns, kind.row_local, kind.looks_at_pods, add, remove)


class WhatIf:
    """The nodes that are tried for one pod."""

    __slots__ = ("_filters", "_pod_filters", "adds", "nodes", "nominations", "pod", "removes", "states", "table")

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
        self._pod_filters = tuple(row_filter for row_filter in self._filters if row_filter.looks_at_pods)
        """Those whose answer changes with the pods on a node."""
        self.adds = tuple(row_filter.add_pod for row_filter in self._pod_filters if row_filter.add_pod)
        self.removes = tuple(row_filter.remove_pod for row_filter in self._pod_filters if row_filter.remove_pod)

    def trial(self, row: int) -> NodeTrial:
        """Try the node in ``row``."""
        return NodeTrial(self, row, self._filters, self._pod_filters)

    def trials(self, rows: NDArray[np.intp]) -> NodesTrial | None:
        """Try the nodes in ``rows`` at once; None when some filter does not look at each node by itself."""
        # ``add_pod`` and ``remove_pod`` keep a state for one node: many nodes would need as many states.
        if self.adds or self.removes or not all(row_filter.is_row_local for row_filter in self._pod_filters):
            return None
        filters = [row_filter.columns for row_filter in self._filters]
        return NodesTrial(self, rows, filters, [row_filter.columns for row_filter in self._pod_filters])

    def judge(self, row: int) -> Rejection:
        """Return the first plugin that rejects the node in ``row`` as it is, with its reasons. Raises PluginError."""
        with self.trial(row) as trial:
            return trial.judge()

    def rejected_rows(self, rows: Sequence[int], diagnosis: Diagnosis | None = None) -> list[int]:
        """Return those of ``rows`` that the filters reject, and note the reasons. Raises PluginError."""
        trials = self.trials(np.array(rows)) if len(rows) > _FEW_ROWS else None
        if trials is not None:
            with trials:
                fits = trials.fits().tolist()
            if diagnosis is not None:
                for hook, mask, reject in trials.rejections:
                    diagnosis.reject_rows(hook, mask, reject)
            return [row for row, does_fit in zip(rows, fits, strict=True) if not does_fit]
        rejected = []
        for row in rows:
            plugin, rejects = self.judge(row)
            if rejects:
                rejected.append(row)
                if diagnosis is not None:
                    diagnosis.reject_row(plugin, row, rejects)
        return rejected


class NodeTrial:
    """One node with other pods on it: an ``api.NodeWhatIf``. The table is as before when the ``with`` ends."""

    __slots__ = ("_filters", "_node", "_nominated", "_pod_filters", "_row", "_states", "_what_if")

    def __init__(
        self, what_if: WhatIf, row: int, filters: tuple[RowFilter, ...], pod_filters: tuple[RowFilter, ...]
    ) -> None:
        """``pod_filters`` are those of ``filters`` whose answer changes with the pods on a node."""
        self._what_if = what_if
        self._row = row
        self._filters = filters
        self._pod_filters = pod_filters
        self._states: dict[str, Any] = {}
        """The states that ``add_pod`` and ``remove_pod`` have changed: copies."""
        self._nominated = what_if.nominations.competing_with(what_if.pod, what_if.table.names[row])
        self._node = what_if.table.hypothetical_node(row)

    def __enter__(self) -> NodeTrial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._node.restore()

    def remove(self, *pods: Pod) -> None:
        """Take ``pods`` off the node. Raises KeyError when one is not there."""
        self._node.remove(*pods)
        for hook in self._what_if.removes:
            for pod in pods:
                self._change_state(hook, pod)

    def add(self, pod: Pod) -> None:
        """Put ``pod`` on the node."""
        self._node.add(pod)
        for hook in self._what_if.adds:
            self._change_state(hook, pod)

    def fits(self) -> bool:
        """Return whether the pod could be on the node now. Raises PluginError."""
        return not self.judge()[1]

    def rejections(self) -> Sequence[Reject]:
        """Return why the pod could not be on the node now; nothing when it could. Raises PluginError."""
        return self.judge()[1]

    def judge(self) -> Rejection:
        """Return the first plugin that rejects the node now, with or without the pods nominated to it.

        Raises PluginError.
        """
        if self._nominated:
            # On copies: the states without these pods are needed again below, and by the next trial.
            states = self._states
            self._states = {name: _clone(name, state) for name, state in states.items()}
            for pod in self._nominated:
                self.add(pod)
            try:
                rejection = self._run_filters()
            finally:
                self._node.remove(*self._nominated)
                self._states = states
            if rejection[1]:
                return rejection
        return self._run_filters()

    def _run_filters(self) -> Rejection:
        """Return the first filter that rejects the node with the pods that are on it now. Raises PluginError."""
        what_if, row = self._what_if, self._row
        pod, nodes, own_states, states = what_if.pod, what_if.nodes, self._states, what_if.states
        for row_filter in self._filters:
            hook = row_filter.row
            name = hook.plugin
            state = own_states[name] if name in own_states else states.get(name)
            rejects = collect_rejections(hook, pod, nodes, state, row)
            if rejects:
                return name, rejects
        # Those that do not look at pods have accepted this node for good: only the others run again.
        self._filters = self._pod_filters
        return _FITS

    def _change_state(self, hook: Hook, other: Pod) -> None:
        """Bring a plugin's filter state up to date with ``other`` added or removed. Raises PluginError.

        The plugin gets a copy of the state that all nodes share, and from then on the one that it returned.
        """
        what_if, name = self._what_if, hook.plugin
        state = self._states[name] if name in self._states else _clone(name, what_if.states.get(name))
        self._states[name] = hook(what_if.pod, what_if.nodes, state, other, self._row)


def _clone(plugin: str, state: Any) -> Any:
    """Return a copy of a filter state, as the contract of ``add_pod`` promises it. Raises PluginError."""
    own = getattr(state, "clone", None) or getattr(state, "copy", None)
    try:
        return own() if callable(own) else copy.copy(state)
    except caught_exceptions() as error:
        raise PluginError(plugin, "pre_filter", f"its state cannot be copied: {error}") from error


class NodesTrial:
    """Many nodes at once, each with other pods on it. The table is as before when the ``with`` ends.

    For filters that look at each node by itself: what they answer about a node does not depend on the others, so that
    all nodes can be changed before the filters run over all of them.
    """

    def __init__(
        self, what_if: WhatIf, rows: NDArray[np.intp], filters: Sequence[Hook], pod_filters: Sequence[Hook]
    ) -> None:
        """``pod_filters`` are those of ``filters`` whose answer changes with the pods on a node."""
        self._what_if = what_if
        self._rows = rows
        self._filters = filters
        self._pod_filters = pod_filters
        names, nominations = what_if.table.names, what_if.nominations
        self._nominated = (
            [nominations.competing_with(what_if.pod, names[row]) for row in rows.tolist()] if nominations else []
        )
        self._candidates: Mask = np.zeros(len(what_if.table), np.bool_)
        """The rows that may still fit. One that did not at first is not judged again."""
        self._candidates[rows] = True
        self._is_first = True
        self.rejections: list[tuple[Hook, Mask, Reject]] = []
        """The rows that each filter rejected when they were judged for the first time, and the reasons."""
        self._nodes = what_if.table.hypothetical_nodes(rows)

    def __enter__(self) -> NodesTrial:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._nodes.restore()

    @property
    def reasons(self) -> Counter[str]:
        """The reasons against nodes when they were judged for the first time."""
        reasons: Counter[str] = Counter()
        for _, rows, reject in self.rejections:
            reasons[reject.reason] += int(np.count_nonzero(rows))
        return reasons

    def remove(self, pods: Sequence[Sequence[Pod]]) -> None:
        """Take pods off the nodes: some for each of them."""
        self._nodes.change(pods, -1)

    def add(self, pods: Sequence[Sequence[Pod]]) -> None:
        """Put pods on the nodes: some for each of them."""
        self._nodes.change(pods, 1)

    def fits(self) -> Mask:
        """Return where the pod could be now; where it could not at first is not judged again. Raises PluginError."""
        if any(self._nominated):
            self._nodes.change(self._nominated, 1)
            fits = self._run_filters(self._candidates)
            self._nodes.change(self._nominated, -1)
            has_nominated = np.zeros(len(fits), np.bool_)
            has_nominated[self._rows[[bool(pods) for pods in self._nominated]]] = True
            # Only where it fits with the nominated pods, and has some, it also has to fit without them.
            fits = (fits & ~has_nominated) | self._run_filters(fits & has_nominated)
        else:
            fits = self._run_filters(self._candidates)
        # From the second call on, only filters that look at pods run, on nodes that the first call left.
        if self._is_first:
            self._is_first, self._filters, self._candidates = False, self._pod_filters, fits
        answer: Mask = fits[self._rows]
        return answer

    def _run_filters(self, candidates: Mask) -> Mask:
        """Return those of the ``candidates`` that no filter rejects."""
        what_if = self._what_if
        nodes = NodeTable(what_if.table, candidates)
        # A decision state of its own: the filters answer anew, about other pods on the nodes.
        decision = DecisionState(what_if.pod, what_if.table, states=what_if.states)
        run_filter_plugins(self._filters, decision, nodes, self._note if self._is_first else None)
        return nodes.feasible

    def _note(self, hook: Hook, rows: Mask, reject: Reject) -> None:
        """Remember a rejection, for ``reasons`` and for the diagnosis."""
        self.rejections.append((hook, rows, reject))
