"""What row-local plugins said, kept for pods of the same signature and brought up to date for the rows that changed.

Between two pods of one kind usually a single row changes: the one the first was placed on. Asking a plugin about that
row alone gives the same verdicts as asking about all, because it declares that a row's verdict depends on nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api import Mask, NodeTable, Plugin, Pod, Reject, Restrict, Scores
from ..table import Table
from .calls import Hook, checked_rows, checked_scores, rejections

MAX_ENTRIES = 256
_FEW = 4
"""Rows are brought up to date one by one while at most one in this many changed."""

Rows = NDArray[np.intp]


class _Entry:
    """What one hook said about all rows of a table, as of a moment of the table's clock."""

    __slots__ = ("clock", "layout", "rejects", "scores", "table")

    def __init__(self) -> None:
        self.table: Table | None = None
        self.layout = 0
        self.clock = 0
        self.rejects: dict[tuple[str, bool], tuple[Mask, Mask]] = {}
        self.scores: Scores = np.zeros(0)

    def current(self, table: Table) -> None:
        """Note that all rows are up to date."""
        self.table, self.layout, self.clock = table, table.layout, table.clock


class Kept:
    """The verdicts of one profile's row-local plugins."""

    def __init__(self, plugins: Mapping[str, Plugin], pre_filters: Iterable[Hook], pre_scores: Iterable[Hook]) -> None:
        """``pre_filters`` and ``pre_scores`` make the states that filters and scores are given."""
        self._signatures = {
            name: Hook(name, "signature", plugin.signature) for name, plugin in plugins.items() if _may_be_kept(plugin)
        }
        self._pre_filters = {hook.plugin: hook for hook in pre_filters}
        self._pre_scores = {hook.plugin: hook for hook in pre_scores}
        self._entries: OrderedDict[tuple[str, str, Hashable], _Entry] = OrderedDict()
        self._table = Table()
        self._changed: dict[int, Rows | None] = {}
        self._views: dict[int, NodeTable] = {}
        self._signed: dict[str, Hashable] = {}

    def begin(self, table: Table) -> None:
        """Start an attempt on ``table``."""
        self._table = table
        for memory in (self._changed, self._views, self._signed):
            memory.clear()

    def forget(self, plugin: str) -> None:
        """Drop what ``plugin`` said: data of its own changed."""
        for key in [key for key in self._entries if key[0] == plugin]:
            del self._entries[key]

    def rejections(self, hook: Hook, pod: Pod, nodes: NodeTable, state: Any) -> list[Reject]:
        """What a filter yields, from memory where that is possible. Raises PluginError."""
        entry = self._entry(hook, pod)
        if entry is None:
            return rejections(hook, pod, nodes, state)
        rows = self._outdated(entry)
        if rows is None:
            entry.rejects = {}
            self._note(entry, hook, slice(None), rejections(hook, pod, self._every(), state))
        elif len(rows):
            some = self._some(entry, rows)
            self._clear(entry, rows)
            self._note(entry, hook, rows, rejections(hook, pod, some, self._filter_state(hook, pod, some)))
        entry.current(self._table)
        return [Reject(rows, reason, where, pending) for (reason, pending), (rows, where) in entry.rejects.items()]

    def scores(self, hook: Hook, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        """What a plugin scores, from memory where that is possible. Raises PluginError."""
        entry = self._entry(hook, pod)
        if entry is None:
            return checked_scores(hook, hook(pod, nodes, state), nodes.feasible)
        rows = self._outdated(entry)
        if rows is None:
            entry.scores = np.array(checked_scores(hook, hook(pod, self._every(), state), nodes.feasible))
        elif len(rows):
            some = self._some(entry, rows)
            found = hook(pod, some, self._score_state(hook, pod, some))
            entry.scores = _updated(entry.scores, rows, checked_scores(hook, found, nodes.feasible[rows]))
        entry.current(self._table)
        return checked_scores(hook, entry.scores, nodes.feasible)

    def _entry(self, hook: Hook, pod: Pod) -> _Entry | None:
        signature_of = self._signatures.get(hook.plugin)
        if signature_of is None:
            return None
        if hook.plugin not in self._signed:
            self._signed[hook.plugin] = signature_of(pod)
        signature = self._signed[hook.plugin]
        if signature is None:
            return None
        key = (hook.plugin, hook.name, signature)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry()
            if len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)
        else:
            self._entries.move_to_end(key)
        return entry

    def _outdated(self, entry: _Entry) -> Rows | None:
        """The rows that changed since; None when all have to be asked about."""
        if entry.table is not self._table or entry.layout != self._table.layout:
            return None
        if entry.clock not in self._changed:
            rows = self._table.changed_since(entry.clock)
            self._changed[entry.clock] = rows if len(rows) * _FEW <= len(self._table) else None
        return self._changed[entry.clock]

    def _every(self) -> NodeTable:
        """All nodes, each of them in play: what is said is used again where others did not reject."""
        return NodeTable(self._table, np.ones(len(self._table), np.bool_))

    def _some(self, entry: _Entry, rows: Rows) -> NodeTable:
        """The nodes in ``rows``, which changed since ``entry``; most entries are of the same moment and share this."""
        some = self._views.get(entry.clock)
        if some is None:
            some = self._views[entry.clock] = NodeTable(self._table, np.ones(len(rows), np.bool_), rows)
        return some

    def _filter_state(self, hook: Hook, pod: Pod, some: NodeTable) -> Any:
        pre_filter = self._pre_filters.get(hook.plugin)
        answer = pre_filter(pod, some, {}) if pre_filter else None
        return answer.state if isinstance(answer, Restrict) else answer

    def _score_state(self, hook: Hook, pod: Pod, some: NodeTable) -> Any:
        pre_score = self._pre_scores.get(hook.plugin)
        return pre_score(pod, some, {}) if pre_score else self._filter_state(hook, pod, some)

    def _clear(self, entry: _Entry, rows: Rows) -> None:
        for key, (rejected, resolvable) in list(entry.rejects.items()):
            rejected[rows], resolvable[rows] = False, True
            if not np.count_nonzero(rejected):
                del entry.rejects[key]

    def _note(self, entry: _Entry, hook: Hook, rows: Rows | slice, found: Iterable[Reject]) -> None:
        total = len(self._table)
        size = total if isinstance(rows, slice) else len(rows)
        for reject in found:
            masks = entry.rejects.get((reject.reason, reject.pending))
            if masks is None:
                masks = (np.zeros(total, np.bool_), np.ones(total, np.bool_))
                entry.rejects[reject.reason, reject.pending] = masks
            rejected, resolvable = masks
            rejected[rows] |= checked_rows(hook, reject.rows, size)
            resolvable[rows] &= reject.resolvable


def _may_be_kept(plugin: Plugin) -> bool:
    return plugin.row_local and type(plugin).signature is not Plugin.signature


def _updated(scores: Scores, rows: Rows, found: Scores) -> Scores:
    if found.dtype != scores.dtype:
        scores = scores.astype(np.result_type(scores, found))
    scores[rows] = found
    return scores
