"""Cache of plugin answers: pods for which every cacheable plugin has the same ``signature`` share one entry.

See docs/adr/0007 for what is cached and when it is out of date, and ``cached_answers`` for one entry.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any
from weakref import finalize

import numpy as np

from scheduler_runtime.api import MAX_SCORE, Pod
from scheduler_runtime.framework.cached_answers import CacheablePlugin, CachedAnswers, NodeAnswers
from scheduler_runtime.framework.context import FrameworkContext
from scheduler_runtime.framework.hook import caught_exceptions
from scheduler_runtime.framework.outcomes import PluginError
from scheduler_runtime.state.objects import PodSpec, Requests
from scheduler_runtime.state.table import Table

BUDGET_BYTES = 64 * 2**20
"""The memory that the entries of one profile may take."""
_MIN_ENTRIES = 16
_ENTRY_OVERHEAD_BYTES = 1000
_MAX_TEMPLATES = 128
"""Each entry of ``Signatures`` holds on to the spec of a template, which would be freed otherwise."""


class Signatures:
    """The cache keys of pods. Pods of one template share their spec, so that most plugins sign once for all of them."""

    def __init__(self, of_nodes: Sequence[CacheablePlugin], of_pods: Sequence[CacheablePlugin]) -> None:
        self._of_nodes = of_nodes
        self._of_pods = of_pods
        self._depend_on_spec = all(plugin.signs_spec for plugin in (*of_nodes, *of_pods))
        self._keys: dict[int, tuple[PodSpec, Requests, tuple[Hashable, Hashable] | None]] = {}
        """By the id of the spec, which lives as long as its entry."""

    def key(self, pod: Pod) -> tuple[Hashable, Hashable] | None:
        """Return a key for the plugins that do not look at pods on nodes, and one for the others.

        None when some plugin wants to see each pod by itself. Raises PluginError.
        """
        spec, requests = pod.spec, pod.requests
        entry = self._keys.get(id(spec))
        # Requests are compared, too: pods resized in place share the spec of their template and ask for other amounts.
        if entry is not None and entry[0] is spec and entry[1] is requests:
            return entry[2]
        node_key, pod_key = _sign(self._of_nodes, pod), _sign(self._of_pods, pod)
        key = None if node_key is None or pod_key is None else (node_key, pod_key)
        if self._depend_on_spec:
            if len(self._keys) >= _MAX_TEMPLATES:
                self._keys.clear()
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
        self._of_nodes = [plugin for plugin in plugins if plugin.name not in looking]
        self._of_pods = [plugin for plugin in plugins if plugin.name in looking]
        self._signatures = Signatures(self._of_nodes, self._of_pods)
        self._dtype = np.int32 if total_weight * MAX_SCORE < 2**31 else np.int64
        self._by_node: OrderedDict[Hashable, NodeAnswers] = OrderedDict()
        self._by_pod: OrderedDict[Hashable, CachedAnswers] = OrderedDict()
        self._memory = MemoryUse()
        self.hits = 0
        self.misses = 0

    def clear(self) -> None:
        """Forget all answers, because data changed that some plugin goes by."""
        self._by_node.clear()
        self._by_pod.clear()

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
            cached = self._by_pod.get(key)
        except TypeError as error:  # some signature is not hashable
            raise self._hash_error(pod) from error
        node = self._node_answers(key[0], pod, table)
        if cached is not None and cached.bring_up_to_date(node, pod, table):
            self.hits += 1
            self._by_pod.move_to_end(key)
            return cached
        self.misses += 1
        if self._every_version_matters:
            # A plugin from elsewhere may read any field of the pods on a node, such as their phase: from now on the
            # table also logs changes of fields that it does not count.
            table.tracks_uncounted_fields = True
        cached = CachedAnswers(node, self._of_pods, pod, table, self._dtype)
        if cached.is_plain:
            self._by_pod[key] = cached
            self._trim(len(table))
        else:
            # Not stored: it has nothing but the answers of a moment ago, and each node may have a class of its own
            # (pods of a DaemonSet), which would displace all others.
            self._by_pod.pop(key, None)
        return cached

    def _hash_error(self, pod: Pod) -> PluginError:
        """Return the error of the plugin whose signature cannot be part of a key."""
        for plugin in (*self._of_nodes, *self._of_pods):
            try:
                hash(plugin.signature(pod))
            except TypeError as error:
                return plugin.signature.error(error)
        raise AssertionError(f"every signature of {pod.key} is hashable now")

    def _node_answers(self, key: Hashable, pod: Pod, table: Table) -> NodeAnswers:
        """Return the answers of plugins that do not look at pods, made again if a node changed. Raises PluginError."""
        answers = self._by_node.get(key)
        if answers is None or answers.version != (table.nodes_version, table):
            answers = NodeAnswers(self._of_nodes, pod, table)
            if not answers.plugins.is_plain:
                self._by_node.pop(key, None)
                return answers
            self._by_node[key] = answers
            self._memory.add(answers)
            self._trim(len(table))
        self._by_node.move_to_end(key)
        return answers

    def size(self, rows: int) -> int:
        """Return the memory of all entries in bytes, if each has so many ``rows``."""
        entry = _ENTRY_OVERHEAD_BYTES + rows * (1 + np.dtype(self._dtype).itemsize)
        return self._memory.bytes + entry * len(self._by_pod)

    def _trim(self, rows: int) -> None:
        """Forget the least recently used entries, of the larger of the two dicts, until the budget is kept."""
        by_pod, by_node = self._by_pod, self._by_node
        while self.size(rows) > BUDGET_BYTES and max(len(by_pod), len(by_node)) > _MIN_ENTRIES:
            larger: OrderedDict[Hashable, Any] = by_pod if len(by_pod) >= len(by_node) else by_node
            larger.popitem(last=False)
