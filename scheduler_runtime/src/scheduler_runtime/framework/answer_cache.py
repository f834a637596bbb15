"""Cache of plugin answers: pods for which every cacheable plugin has the same ``signature`` share one entry.

Between two pods of one kind usually a single row changes: the one the first was placed on. Most of what plugins answer
about a node does not even depend on the pods that are on it. So the answers are cached in two parts:

    NodeAnswers     plugins that do not look at pods (taints, labels, …)   made again when any node changed
    CachedAnswers   these and the others (room, ports, …)                  row by row, where something changed

``CachedAnswers.total`` has, for each row, the sum of the weighted scores, or -1 where some plugin rejects: a decision
is then little more than finding the highest. See docs/adr/0007 for what is cached and when it is out of date.
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
from scheduler_runtime.framework.context import FrameworkContext
from scheduler_runtime.framework.decision_hooks import Scorer, run_filter_plugins
from scheduler_runtime.framework.decision_state import DecisionState
from scheduler_runtime.framework.hook import Hook, caught_exceptions, check_scores, is_normalized, rejects_row
from scheduler_runtime.framework.outcomes import PluginError
from scheduler_runtime.state.lru import encoded_size
from scheduler_runtime.state.objects import PodSpec, Requests
from scheduler_runtime.state.table import Table

BUDGET_BYTES = 64 * 2**20
"""The memory that the entries of one profile may take."""
_MIN_ENTRIES = 16
"""So many are kept in any case."""
_MAX_KEY_BYTES = BUDGET_BYTES // _MIN_ENTRIES
"""An entry with a key beyond this is not stored: users may write pods of a megabyte, each another one."""
_OVERHEAD_BYTES = 1000
"""Roughly the memory of an entry beside its arrays and its key."""
_DECODED = 8
"""So many times what it takes encoded is what a spec, or a key made of parts of it, takes in memory, or less."""
_MAX_TEMPLATES = 128
"""Each entry of ``Signatures`` holds on to the spec of a template, which would be freed otherwise."""
_MAX_TEMPLATE_BYTES = 4 * 2**20
"""The size of all these specs, encoded."""
INFEASIBLE = -1
"""The total of a row that some plugin rejects: below any that is the sum of scores, which are not negative."""


@dataclass(frozen=True, slots=True)
class CacheablePlugin:
    """A plugin whose answers are cached, with those of its hooks that the profile enables.

    Its hooks have no timer: the durations of single plugins are those of plugins that answer in the decision itself.
    """

    name: str
    signature: Hook
    pre_filter: Hook | None
    filter: Hook | None
    filter_row: Hook | None
    pre_score: Hook | None
    scorer: Scorer | None
    score_row: Hook
    signs_spec: bool = False
    """Whether its signature depends on nothing but the pod's spec and requests."""


class PreparedPlugins:
    """Plugins after their ``pre_filter`` and ``pre_score``: which of their hooks run for a pod, with which state."""

    def __init__(
        self, plugins: Sequence[CacheablePlugin], pod: Pod, nodes: NodeTable, *, with_scores: bool = True
    ) -> None:
        """Run ``pre_filter`` and, unless scores are not needed, ``pre_score``. Raises PluginError."""
        self.pre_filter_answers: dict[str, Any] = {}
        self.states: dict[str, Any] = {}
        self.is_unrestricted = True
        """Whether no ``pre_filter`` rejected the pod or restricted the nodes."""
        self.filters: list[CacheablePlugin] = []
        """The plugins whose filter runs, with the state in ``states``."""
        self.scorers: list[tuple[CacheablePlugin, Scorer, Any]] = []
        for plugin in plugins:
            answer = None
            if plugin.pre_filter:
                # The cycle is empty: what a cacheable plugin puts there would be lost for the next pod of its class.
                answer = self.pre_filter_answers[plugin.name] = plugin.pre_filter(pod, nodes, {})
            if answer is SKIP:
                continue
            if isinstance(answer, Reject | Restrict):
                self.is_unrestricted = False
                continue
            if plugin.pre_filter:
                self.states[plugin.name] = answer
            if plugin.filter:
                self.filters.append(plugin)
        for plugin in plugins if self.is_unrestricted and with_scores else ():
            if plugin.scorer is None:
                continue
            state = plugin.pre_score(pod, nodes, {}) if plugin.pre_score else self.states.get(plugin.name)
            if state is not SKIP:
                self.scorers.append((plugin, plugin.scorer, state))

    def feasible(self, pod: Pod, table: Table, mask: Mask) -> Mask:
        """Return those rows of ``mask`` that no filter rejects. Raises PluginError."""
        if not self.filters:
            return mask
        nodes = NodeTable(table, mask)
        filters = [plugin.filter for plugin in self.filters if plugin.filter]
        run_filter_plugins(filters, DecisionState(pod, table, states=self.states), nodes)
        return nodes.feasible


@dataclass(frozen=True, slots=True)
class UnnormalizedScores:
    """Scores that mean something only when they are compared with those of the other feasible nodes."""

    scorer: Scorer
    scores: Scores
    state: Any


class NodeAnswers:
    """The answers about each node that hold whatever pods run there, for one class of pods."""

    def __init__(self, plugins: Sequence[CacheablePlugin], pod: Pod, table: Table, key: Hashable) -> None:
        """Ask ``plugins``, none of which looks at pods. Raises PluginError."""
        self.key_bytes = _DECODED * encoded_size(key)
        self.version = table.nodes_version, table
        """The nodes that it is about. Any change of one of them makes it out of date."""
        # All nodes are in play, and all are scored: the answers are read again where others do not reject any more.
        nodes = NodeTable(table, np.ones(len(table), np.bool_))
        self.prepared = PreparedPlugins(plugins, pod, nodes)
        self.mask: Mask = np.ones(0, np.bool_)
        self.total: Ints = np.zeros(0, np.int64)
        """The weighted sum of the scores that are normalized already."""
        self.unnormalized: list[UnnormalizedScores] = []
        if not self.prepared.is_unrestricted:
            return
        self.mask = self.prepared.feasible(pod, table, nodes.feasible)
        self.total = np.zeros(len(table), np.int64)
        nobody = np.zeros(len(table), np.bool_)
        for _, scorer, state in self.prepared.scorers:
            scores = check_scores(scorer.score, scorer.score(pod, nodes, state), nobody)
            if scorer.normalize is None and is_normalized(scores):
                self.total += scorer.weighted(scores)
            # Without a normalizer they are out of range somewhere: an error only if such a node is feasible.
            elif not (scorer.keeps_equal and (scores == scores[0]).all()):  # Equal scores decide nothing.
                self.unnormalized.append(UnnormalizedScores(scorer, scores, state))

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes."""
        scores = sum(unnormalized.scores.nbytes for unnormalized in self.unnormalized)
        return _OVERHEAD_BYTES + self.key_bytes + self.mask.nbytes + self.total.nbytes + scores


class CachedAnswers:
    """The answers of all cached plugins about each row, for one class of pods."""

    __slots__ = (
        *("_position", "is_unrestricted", "is_usable", "key_bytes"),
        *("mask", "node_answers", "prepared", "states", "total"),
    )

    def __init__(
        self,
        node_answers: NodeAnswers,
        plugins: Sequence[CacheablePlugin],
        pod: Pod,
        table: Table,
        dtype: type,
        key: Hashable,
    ) -> None:
        """Ask ``plugins``, which look at pods, and add what they answer to ``node_answers``. Raises PluginError.

        ``key`` is what these plugins sign.
        """
        self.key_bytes = _DECODED * encoded_size(key)
        self.node_answers = node_answers
        nodes = NodeTable(table, np.ones(len(table), np.bool_))
        self.prepared = PreparedPlugins(plugins, pod, nodes, with_scores=node_answers.prepared.is_unrestricted)
        self.states: dict[str, Any] = {**node_answers.prepared.states, **self.prepared.states}
        """The states for the later hooks of cached plugins, the same for all pods of the class."""
        self.is_unrestricted = node_answers.prepared.is_unrestricted and self.prepared.is_unrestricted
        self.is_usable = self.is_unrestricted
        """Whether the class can be used; otherwise all plugins answer about each pod anew."""
        self.mask: Mask = node_answers.mask
        self.total: NDArray[Any] = np.zeros(0, dtype)
        if self.is_usable:
            self._fill(node_answers, pod, table, nodes)

    def _fill(self, node_answers: NodeAnswers, pod: Pod, table: Table, nodes: NodeTable) -> None:
        """Ask about all rows, ``nodes``. Raises PluginError.

        Nothing is changed before all plugins have answered: one that fails leaves the answers as they were.
        """
        position = table.changes.position  # Before asking, so that nothing is missed that changes meanwhile.
        mask = node_answers.mask & self.prepared.feasible(pod, table, nodes.feasible)
        total = node_answers.total.copy()
        for _, scorer, state in self.prepared.scorers:
            scores = check_scores(scorer.score, scorer.score(pod, nodes, state), mask)
            if not is_normalized(scores):
                # Perhaps only on rows that other plugins reject: asking in the profile's order will show it.
                self.is_usable = False
                return
            total += scorer.weighted(scores)
        self.node_answers, self.mask, self._position = node_answers, mask, position
        self.total = np.where(mask, total, INFEASIBLE).astype(self.total.dtype)
        self.states = {**node_answers.prepared.states, **self.prepared.states}

    def bring_up_to_date(self, node_answers: NodeAnswers, pod: Pod, table: Table) -> bool:
        """Ask again about the rows that changed since, and use ``node_answers`` from now on. Raises PluginError.

        Return whether that was possible; if not, the answers have to be made anew.
        """
        before = self.node_answers
        is_same = node_answers is before
        if not self.is_usable:
            return is_same
        if not is_same and not (
            node_answers.prepared.is_unrestricted and node_answers.version[1] is self.node_answers.version[1]
        ):
            return False
        rows = table.changes.since(self._position)
        if rows is not None and not is_same:
            # A change of one node may change answers about others, as the number of nodes that have an image does.
            differ = (node_answers.total != before.total) | (node_answers.mask != before.mask)
            rows = [*rows, *np.flatnonzero(differ).tolist()]
        # All rows at once cost less than many one by one; ``rows`` is None when the log of changes starts over.
        if rows is None or len(rows) > 8 + len(self.mask) // 256:
            self._fill(node_answers, pod, table, NodeTable(table, np.ones(len(table), np.bool_)))
            return True
        position, nodes = table.changes.position, NodeTable(table, self.mask)
        if rows:
            mask = self.mask.copy()  # The old one was in play in earlier decisions: it is not written to.
            for row in rows if len(rows) == 1 else set(rows):
                total = self._rank_row(row, node_answers, pod, nodes)
                mask[row] = total != INFEASIBLE
                self.total[row] = total
            self.mask = mask
        # Last: when a plugin fails above, the same rows are asked about again.
        self._position = position
        if not is_same:
            self.node_answers, self.states = node_answers, {**node_answers.prepared.states, **self.prepared.states}
        return True

    def _rank_row(self, row: int, node_answers: NodeAnswers, pod: Pod, nodes: NodeTable) -> int:
        """Return the row's sum of weighted scores by ``filter_row`` and ``score_row``, -1 if a plugin rejects it."""
        if not node_answers.mask.item(row):
            return INFEASIBLE
        states = self.prepared.states
        for plugin in self.prepared.filters:
            if plugin.filter_row and rejects_row(plugin.filter_row, pod, nodes, states.get(plugin.name), row):
                return INFEASIBLE
        total: int = node_answers.total.item(row)
        for plugin, scorer, state in self.prepared.scorers:
            score = plugin.score_row(pod, nodes, state, row)
            if not (type(score) is int or isinstance(score, int | np.integer)) or not 0 <= score <= MAX_SCORE:
                raise plugin.score_row.error(f"it scored {score!r}; scores are whole numbers from 0 to {MAX_SCORE}")
            total += score * scorer.weight
        return total


class Signatures:
    """The cache keys of pods. Pods of one template share their spec, so that most plugins sign once for all of them."""

    def __init__(self, node_plugins: Sequence[CacheablePlugin], pod_plugins: Sequence[CacheablePlugin]) -> None:
        self._node_plugins = node_plugins
        self._pod_plugins = pod_plugins
        self._depend_on_spec = all(plugin.signs_spec for plugin in (*node_plugins, *pod_plugins))
        self._keys: dict[int, tuple[PodSpec, Requests, tuple[Hashable, Hashable] | None]] = {}
        """By the id of the spec, which lives as long as its entry."""
        self._bytes = 0

    def key(self, pod: Pod) -> tuple[Hashable, Hashable] | None:
        """Return a key for the plugins that do not look at pods on nodes, and one for the others.

        None when some plugin wants to see each pod by itself. Raises PluginError.
        """
        spec, requests = pod.spec, pod.derived or pod.requests
        entry = self._keys.get(id(spec))
        # Requests are compared, too: pods resized in place share the spec of their template and ask for other amounts.
        if entry is not None and entry[0] is spec and entry[1] is requests:
            return entry[2]
        node_key, pod_key = _sign(self._node_plugins, pod), _sign(self._pod_plugins, pod)
        key = None if node_key is None or pod_key is None else (node_key, pod_key)
        if self._depend_on_spec:
            self._bytes += encoded_size(spec)
            if len(self._keys) >= _MAX_TEMPLATES or self._bytes > _MAX_TEMPLATE_BYTES:
                self._keys.clear()
                self._bytes = 0
            self._keys[id(spec)] = spec, requests, key
        return key


def _sign(plugins: Iterable[CacheablePlugin], pod: Pod) -> Hashable | None:
    """Return the signatures of all ``plugins``, None if one has none. Raises PluginError."""
    signatures = []
    for plugin in plugins:
        hook = plugin.signature
        try:
            signature = hook.run(pod)
        except caught_exceptions() as error:
            raise hook.error(error) from error
        if signature is None:
            return None
        signatures.append(signature)
    return tuple(signatures)


class MemoryUse:
    """The bytes of all NodeAnswers that are alive.

    Pod entries hold on to some that were replaced in the cache since, so that counting its entries is not enough.
    """

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, answers: NodeAnswers) -> None:
        """Count ``answers`` until they are freed."""
        self.bytes += answers.size
        # A reference to the answers themselves in the callback would keep them alive for ever.
        finalize(answers, self._subtract, answers.size).atexit = False

    def _subtract(self, size: int) -> None:
        self.bytes -= size


class AnswerCache:
    """The cached answers of one profile's plugins, bounded in memory: the least recently used entries go first."""

    def __init__(
        self,
        plugins: Sequence[CacheablePlugin],
        looks_at_pods: Iterable[str],
        total_weight: int,
        context: FrameworkContext,
        *,
        every_version_matters: bool = False,
    ) -> None:
        """``looks_at_pods`` names those of ``plugins`` whose answers depend on the pods on a node.

        ``every_version_matters`` is set if some look at more of these pods than what the table counts.
        """
        looking = frozenset(looks_at_pods)
        self._context = context
        self._invalidations = context.invalidations
        self._every_version_matters = every_version_matters
        self._node_plugins = [plugin for plugin in plugins if plugin.name not in looking]
        self._pod_plugins = [plugin for plugin in plugins if plugin.name in looking]
        self._signatures = Signatures(self._node_plugins, self._pod_plugins)
        self._dtype = np.int32 if total_weight * MAX_SCORE < 2**31 else np.int64
        self._node_entries: OrderedDict[Hashable, NodeAnswers] = OrderedDict()
        self._pod_entries: OrderedDict[Hashable, CachedAnswers] = OrderedDict()
        self._memory = MemoryUse()
        self._pod_key_bytes = 0
        """What the keys of ``_pod_entries`` take beside those of their NodeAnswers."""
        self.hits = 0
        self.misses = 0

    def clear(self) -> None:
        """Forget all answers, because data changed that some plugin goes by."""
        self._node_entries.clear()
        self._pod_entries.clear()
        self._pod_key_bytes = 0

    def lookup(self, pod: Pod, table: Table) -> CachedAnswers | None:
        """Return the answers about pods such as ``pod``, up to date, asking the plugins where they are not.

        None when a plugin wants to see each pod by itself. Raises PluginError.
        """
        # handle.invalidate() only counts: the cache is made later than the plugins whose answers it holds.
        if self._invalidations != self._context.invalidations:
            self._invalidations = self._context.invalidations
            self.clear()
        key = self._signatures.key(pod)
        if key is None:
            return None
        try:
            cached = self._pod_entries.get(key)
        except TypeError as error:  # some signature is not hashable
            raise self._hash_error(pod) from error
        node_answers = self._find_node_answers(key[0], pod, table)
        if cached is not None and cached.bring_up_to_date(node_answers, pod, table):
            self.hits += 1
            self._pod_entries.move_to_end(key)
            return cached
        self.misses += 1
        if self._every_version_matters:
            # A plugin from elsewhere may read any field of the pods on a node, such as their phase: from now on the
            # table also logs changes of fields that it does not count.
            table.track_uncounted_fields()
        if cached is not None:
            self._pod_key_bytes -= self._pod_entries.pop(key).key_bytes
        cached = CachedAnswers(node_answers, self._pod_plugins, pod, table, self._dtype, key[1])
        if cached.is_unrestricted and node_answers.key_bytes + cached.key_bytes <= _MAX_KEY_BYTES:
            self._pod_entries[key] = cached
            self._pod_key_bytes += cached.key_bytes
            self._trim(len(cached.mask))
        # A restricted one has nothing but the answers of a moment ago, and each node may have a class of its own (pods
        # of a DaemonSet), which would displace all others.
        return cached

    def _hash_error(self, pod: Pod) -> PluginError:
        """Return the error of the plugin whose signature cannot be part of a key."""
        for plugin in (*self._node_plugins, *self._pod_plugins):
            try:
                hash(plugin.signature(pod))
            except TypeError as error:
                return plugin.signature.error(error)
        raise AssertionError(f"every signature of {pod.key} is hashable now")

    def _find_node_answers(self, key: Hashable, pod: Pod, table: Table) -> NodeAnswers:
        """Return the answers of plugins that do not look at pods, made again if a node changed. Raises PluginError."""
        answers = self._node_entries.get(key)
        if answers is None or answers.version != (table.nodes_version, table):
            answers = NodeAnswers(self._node_plugins, pod, table, key)
            if not answers.prepared.is_unrestricted or answers.key_bytes > _MAX_KEY_BYTES:
                self._node_entries.pop(key, None)
                return answers
            self._node_entries[key] = answers
            self._memory.add(answers)
            self._trim(len(answers.mask))
        self._node_entries.move_to_end(key)
        return answers

    def size(self, rows: int) -> int:
        """Return the memory of all entries in bytes, if each has so many ``rows``."""
        entry = _OVERHEAD_BYTES + rows * (1 + np.dtype(self._dtype).itemsize)
        return self._memory.bytes + self._pod_key_bytes + entry * len(self._pod_entries)

    def _trim(self, rows: int) -> None:
        """Forget the least recently used entries, of the larger of the two dicts, until the budget is kept."""
        by_pod, by_node = self._pod_entries, self._node_entries
        while self.size(rows) > BUDGET_BYTES and max(len(by_pod), len(by_node)) > _MIN_ENTRIES:
            if len(by_pod) >= len(by_node):
                self._pod_key_bytes -= by_pod.popitem(last=False)[1].key_bytes
            else:
                by_node.popitem(last=False)
