"""The plugins whose answers are kept, and what pods have to have in common to be given the same ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from scheduler_runtime.api import Pod
from scheduler_runtime.framework.hook import Hook, caught_exceptions
from scheduler_runtime.framework.scoring import Scorer
from scheduler_runtime.state.objects import PodSpec, Requests

_MOST_KEPT = 128
"""Each holds on to its template, which would be forgotten otherwise."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter, for all rows and for one."""

    every: Hook
    row: Hook


@dataclass(frozen=True, slots=True)
class Score:
    """A score, for all rows and for one."""

    scorer: Scorer
    row: Hook


@dataclass(frozen=True, slots=True)
class CacheablePlugin:
    """A plugin that is kept, with those of its hooks that the profile enables."""

    name: str
    signature: Hook
    pre_filter: Hook | None = None
    filter: Filter | None = None
    pre_score: Hook | None = None
    score: Score | None = None
    signs_spec: bool = False
    """Whether its signature is of nothing but the pod's spec and requests."""


class Signatures:
    """What plugins see in a pod. Pods of one template share their spec, so that most plugins are asked once for all."""

    def __init__(self, of_nodes: Sequence[CacheablePlugin], of_pods: Sequence[CacheablePlugin]) -> None:
        self._of_nodes = of_nodes
        self._of_pods = of_pods
        self._are_kept = all(plugin.signs_spec for plugin in (*of_nodes, *of_pods))
        self._kept: dict[int, tuple[PodSpec, Requests, tuple[Hashable, Hashable] | None]] = {}

    def of(self, pod: Pod) -> tuple[Hashable, Hashable] | None:
        """A key for what pods on nodes do not matter to, and one for the rest. Raises PluginError.

        None when the pod is like no other.
        """
        spec, requests = pod.spec, pod.requests
        kept = self._kept.get(id(spec))
        if kept is not None and kept[0] is spec and kept[1] is requests:
            return kept[2]
        one, other = _signed(self._of_nodes, pod), _signed(self._of_pods, pod)
        key = None if one is None or other is None else (one, other)
        if self._are_kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[id(spec)] = spec, requests, key
        return key


def _signed(plugins: Iterable[CacheablePlugin], pod: Pod) -> Hashable | None:
    signatures = []
    for plugin in plugins:
        try:
            signature = plugin.signature.run(pod)
        except caught_exceptions() as error:
            raise plugin.signature.error(error) from error
        if signature is None:
            return None
        signatures.append(signature)
    return tuple(signatures)
