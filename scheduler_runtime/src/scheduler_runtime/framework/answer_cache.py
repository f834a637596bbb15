"""What row-local plugins said, kept for pods that are alike to them and brought up to date for the rows that changed.

Between two pods of one kind usually a single row changes: the one the first was placed on. Most of what plugins say
about a node does not even depend on the pods that are on it. So what they say is kept in two parts:

    node part   what holds whatever runs on the nodes (taints, labels, …)   anew when some node changed
    pod class   the node part together with the rest (room, ports, …)       row by row, where something changed

A pod class has, for each row, the sum of the weighted scores, or -1 where some plugin rejects: a decision is then
little more than finding the highest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import MAX_SCORE, SKIP, Ints, Mask, NodeTable, Pod, Reject, Restrict, Scores
from scheduler_runtime.framework.cacheable_plugins import CacheablePlugin, Filter, Score, Signatures
from scheduler_runtime.framework.hook import (
    Hook,
    caught_exceptions,
    checked_rows,
    checked_scores,
    not_iterable_error,
    raised_in,
    rejections,
)
from scheduler_runtime.framework.outcomes import PluginError
from scheduler_runtime.framework.scoring import Scorer
from scheduler_runtime.state.table import Table

BUDGET_BYTES = 64 * 2**20
"""What the pod classes of one profile and the node parts that they hold may take."""
_FEWEST = 16
_OVERHEAD = 1000
"""About what an entry takes beside its arrays."""
_INFEASIBLE = -1


class PluginAnswers:
    """What some plugins say about a pod before nodes are looked at: who has anything to say, and with which state."""

    def __init__(
        self, plugins: Sequence[CacheablePlugin], pod: Pod, nodes: NodeTable, *, is_scored: bool = True
    ) -> None:
        """``is_scored`` tells that scores are asked for by class, if these plugins let them."""
        self.answers: dict[str, Any] = {}
        """What each ``pre_filter`` answered."""
        self.states: dict[str, Any] = {}
        self.is_plain = True
        """Whether no ``pre_filter`` rejected the pod or restricted the nodes."""
        self.filters: list[tuple[Filter, Any]] = []
        self.scores: list[tuple[Score, Any]] = []
        for plugin in plugins:
            self._pre_filter(plugin, pod, nodes)
        if self.is_plain and is_scored:
            for plugin in plugins:
                self._pre_score(plugin, pod, nodes)

    def _pre_filter(self, plugin: CacheablePlugin, pod: Pod, nodes: NodeTable) -> None:
        answer = None
        if plugin.pre_filter:
            answer = self.answers[plugin.name] = plugin.pre_filter(pod, nodes, {})
        if answer is SKIP:
            return
        if isinstance(answer, Reject | Restrict):
            self.is_plain = False
            return
        if plugin.pre_filter:
            self.states[plugin.name] = answer
        if plugin.filter:
            self.filters.append((plugin.filter, answer))

    def _pre_score(self, plugin: CacheablePlugin, pod: Pod, nodes: NodeTable) -> None:
        if not plugin.score:
            return
        state = self.states.get(plugin.name)
        scoring = plugin.pre_score(pod, nodes, {}) if plugin.pre_score else state
        if scoring is not SKIP:
            self.scores.append((plugin.score, scoring))

    def feasible(self, pod: Pod, nodes: NodeTable) -> Mask:
        """The rows that no filter rejects."""
        mask = np.ones(len(nodes), np.bool_)
        for each, state in self.filters:
            for reject in rejections(each.every, pod, nodes, state):
                mask &= ~checked_rows(each.every, reject.rows, len(nodes))
        return mask


@dataclass(frozen=True, slots=True)
class UnnormalizedScores:
    """Scores that mean something only when they are compared with those of the other feasible nodes."""

    scorer: Scorer
    scores: Scores
    state: Any


class NodeAnswers:
    """What holds about each node for a class of pods whatever runs there."""

    def __init__(self, plugins: Sequence[CacheablePlugin], pod: Pod, table: Table) -> None:
        nodes = _every(table)
        self.version = table.nodes_version
        self.table = table
        self.said = PluginAnswers(plugins, pod, nodes)
        self.mask: Mask = np.ones(0, np.bool_)
        self.fixed: Ints = np.zeros(0, np.int64)
        self.relative: list[UnnormalizedScores] = []
        if self.said.is_plain:
            self.fixed = np.zeros(len(nodes), np.int64)
            self.mask = self.said.feasible(pod, nodes)
            for each, state in self.said.scores:
                self._add(each.scorer, pod, nodes, state)

    def _add(self, scorer: Scorer, pod: Pod, nodes: NodeTable, state: Any) -> None:
        nobody = np.zeros(len(nodes), np.bool_)
        scores = checked_scores(scorer.score, scorer.score(pod, nodes, state), nobody)
        if scorer.normalize is None and _in_range(scores):
            self.fixed += scores if scorer.weight == 1 else scores * scorer.weight
        elif not (scorer.keeps_equal and _is_constant(scores)):  # Equal scores decide nothing.
            self.relative.append(UnnormalizedScores(scorer, scores, state))

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        scores = sum(each.scores.nbytes for each in self.relative)
        return _OVERHEAD + self.mask.nbytes + self.fixed.nbytes + scores

    def is_current(self, table: Table) -> bool:
        """Whether no node changed since."""
        return self.version == table.nodes_version and self.table is table


class CachedAnswers:
    """What all kept plugins together say about each row for a class of pods."""

    __slots__ = ("_position", "is_plain", "is_sound", "mask", "node", "ranked", "said", "states")

    def __init__(
        self, node: NodeAnswers, plugins: Sequence[CacheablePlugin], pod: Pod, table: Table, dtype: type
    ) -> None:
        nodes = _every(table)
        self.node = node
        self.said = PluginAnswers(plugins, pod, nodes, is_scored=node.said.is_plain)
        self.states = {**node.said.states, **self.said.states}
        """What the later hooks of kept plugins are given, the same for all pods of the class."""
        self.is_plain = node.said.is_plain and self.said.is_plain
        self.is_sound = self.is_plain
        """Whether the class can be used; otherwise each pod is asked about anew."""
        self.mask: Mask = node.mask
        self.ranked: NDArray[Any] = np.zeros(0, dtype)
        if self.is_sound:
            self._fill(pod, table, nodes)

    def _fill(self, pod: Pod, table: Table, nodes: NodeTable) -> None:
        position = table.changes.position
        self.mask = self.node.mask & self.said.feasible(pod, nodes)
        total = self.node.fixed.copy()
        for each, state in self.said.scores:
            scorer = each.scorer
            scores = checked_scores(scorer.score, scorer.score(pod, nodes, state), self.mask)
            if not _in_range(scores):
                self.is_sound = False  # Perhaps on rows only that other plugins reject: who asks in order will see.
                return
            total += scores if scorer.weight == 1 else scores * scorer.weight
        self.ranked = np.where(self.mask, total, _INFEASIBLE).astype(self.ranked.dtype)
        self._position = position

    def can_follow(self, node: NodeAnswers) -> bool:
        """Whether it holds with ``node`` once it is brought up to date."""
        if node is self.node:
            return True
        return self.is_sound and node.said.is_plain and node.table is self.node.table

    def bring_up_to_date(self, node: NodeAnswers, pod: Pod, table: Table) -> None:
        """Look again at the rows that changed since."""
        rows = table.changes.since(self._position)
        if node is not self.node:
            if rows is not None:
                rows = [*rows, *self._differing(node)]
            self.node = node
            self.states = {**node.said.states, **self.said.states}
        if rows is None or len(rows) > 8 + len(table) // 256:
            self._fill(pod, table, _every(table))
            return
        position = table.changes.position
        nodes = NodeTable(table, self.mask)
        for row in rows if len(rows) < 2 else set(rows):
            self._look_at(row, pod, nodes)
        self._position = position  # Not before: when a plugin fails, the rows are still to be looked at.

    def _differing(self, node: NodeAnswers) -> list[int]:
        """The rows of which the new node part says something else: it may look at other nodes, too."""
        differ = (node.fixed != self.node.fixed) | (node.mask != self.node.mask)
        rows: list[int] = np.flatnonzero(differ).tolist()
        return rows

    def _look_at(self, row: int, pod: Pod, nodes: NodeTable) -> None:
        fits = self.node.mask.item(row) and not any(
            _rejects(each.row, pod, nodes, state, row) for each, state in self.said.filters
        )
        self.mask[row] = fits
        self.ranked[row] = self._total(row, pod, nodes) if fits else _INFEASIBLE

    def _total(self, row: int, pod: Pod, nodes: NodeTable) -> int:
        total: int = self.node.fixed.item(row)
        for each, state in self.said.scores:
            score = each.row(pod, nodes, state, row)
            if not (_is_whole(score) and 0 <= score <= MAX_SCORE):
                raise each.row.error(f"it scored {score!r}; scores are whole numbers from 0 to {MAX_SCORE}")
            total += score * each.scorer.weight
        return total


class MemoryUse:
    """The bytes of what is still there, whoever holds it: classes hold node parts that were replaced since."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, part: NodeAnswers) -> None:
        """Count ``part`` until it goes."""
        self.bytes += part.size
        finalize(part, self._give_back, part.size).atexit = False

    def _give_back(self, size: int) -> None:
        self.bytes -= size


class AnswerCache:
    """The pod classes of one profile."""

    def __init__(
        self,
        plugins: Sequence[CacheablePlugin],
        looks_at_pods: Iterable[str],
        total_weight: int,
        *,
        every_version_matters: bool = False,
    ) -> None:
        """``looks_at_pods`` names those of ``plugins`` whose verdicts depend on what runs on a node.

        ``every_version_matters`` tells that some look at more of the pods there than what the table counts.
        """
        looking = frozenset(looks_at_pods)
        self._every_version_matters = every_version_matters
        self._of_nodes = [plugin for plugin in plugins if plugin.name not in looking]
        self._of_pods = [plugin for plugin in plugins if plugin.name in looking]
        self._signatures = Signatures(self._of_nodes, self._of_pods)
        self._dtype = np.int32 if total_weight * MAX_SCORE < 2**31 else np.int64
        self._node_parts: OrderedDict[Hashable, NodeAnswers] = OrderedDict()
        self._classes: OrderedDict[Hashable, CachedAnswers] = OrderedDict()
        self._taken = MemoryUse()
        self.hits = 0
        self.misses = 0

    def forget(self) -> None:
        """Drop everything: data that some plugin goes by changed."""
        self._node_parts.clear()
        self._classes.clear()

    def lookup(self, pod: Pod, table: Table) -> CachedAnswers | None:
        """The class of ``pod``, up to date; None when a plugin wants to see each pod by itself. Raises PluginError."""
        key = self._signatures.of(pod)
        if key is None:
            return None
        try:
            known = self._classes.get(key)
        except TypeError as error:
            raise self._no_key(pod) from error
        node_key, _ = key
        node = self._node_part(node_key, pod, table)
        if known is None or not known.can_follow(node):
            self.misses += 1
            return self._begin(key, node, pod, table)
        self.hits += 1
        self._classes.move_to_end(key)
        if known.is_sound:
            known.bring_up_to_date(node, pod, table)
        return known

    def _no_key(self, pod: Pod) -> PluginError:
        """That the signature of some plugin cannot be a key."""
        for plugin in (*self._of_nodes, *self._of_pods):
            try:
                hash(plugin.signature(pod))
            except TypeError as error:
                return plugin.signature.error(error)
        raise AssertionError(f"every signature of {pod.key} is a key now")

    def _node_part(self, key: Hashable, pod: Pod, table: Table) -> NodeAnswers:
        part = self._node_parts.get(key)
        if part is None or not part.is_current(table):
            part = NodeAnswers(self._of_nodes, pod, table)
            if not part.said.is_plain:
                self._node_parts.pop(key, None)
                return part
            self._node_parts[key] = part
            self._taken.add(part)
            self._trim(len(table))
        self._node_parts.move_to_end(key)
        return part

    def _begin(self, key: Hashable, node: NodeAnswers, pod: Pod, table: Table) -> CachedAnswers:
        if self._every_version_matters:
            table.tracks_uncounted_fields = True
        known = CachedAnswers(node, self._of_pods, pod, table, self._dtype)
        if known.is_plain:
            self._classes[key] = known
            self._trim(len(table))
        else:  # Nothing is known but what was asked just now, and there may be one such class for each node.
            self._classes.pop(key, None)
        return known

    def size(self, rows: int) -> int:
        """How many bytes everything takes, if all classes have so many ``rows``."""
        each = _OVERHEAD + rows * (1 + np.dtype(self._dtype).itemsize)
        return self._taken.bytes + each * len(self._classes)

    def _trim(self, rows: int) -> None:
        classes, parts = self._classes, self._node_parts
        while self.size(rows) > BUDGET_BYTES and max(len(classes), len(parts)) > _FEWEST:
            more: OrderedDict[Hashable, Any] = classes if len(classes) >= len(parts) else parts
            more.popitem(last=False)


def _every(table: Table) -> NodeTable:
    """All nodes, each of them in play: what is said is used again where others did not reject."""
    return NodeTable(table, np.ones(len(table), np.bool_))


def _rejects(hook: Hook, pod: Pod, nodes: NodeTable, state: Any, row: int) -> bool:
    answer: Any = ()
    try:
        answer = hook.run(pod, nodes, state, row)
        return any(True for _ in answer)
    except caught_exceptions() as error:
        raise not_iterable_error(hook, answer) or hook.error(error) from raised_in(answer, error)


def _is_whole(score: object) -> bool:
    return type(score) is int or isinstance(score, int | np.integer)


def _in_range(scores: Scores) -> bool:
    """Whether all are whole numbers from 0 to 100. Seen as unsigned, a negative score is a huge one."""
    if scores.dtype != np.int64:
        return scores.dtype.kind in "iu" and bool(scores.min() >= 0 and scores.max() <= MAX_SCORE)
    return bool(scores.view(np.uint64).max() <= MAX_SCORE)


def _is_constant(scores: Scores) -> bool:
    return bool((scores == scores[0]).all())
