"""Node selectors and node affinity."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import msgspec
import numpy as np

from ..api import (
    QUEUE,
    SKIP,
    Answer,
    Cycle,
    Event,
    Handle,
    Ints,
    Mask,
    Node,
    NodeTable,
    Plugin,
    Pod,
    Reject,
    Restrict,
    Scores,
    share_of_the_largest,
)
from ..catalog import in_tree
from ..catalog.args import NodeAffinityArgs
from ..matching import is_sound, labelled_rows, matches, matching_rows, problem_in, term_rows
from ..wire import NodeAffinity as Affinity
from ..wire import NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm

_POD = "node(s) didn't match Pod's node affinity/selector"
_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
_CONFLICT = "pod affinity terms conflict"
_REQUIRED_PATH = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_PREFERRED_PATH = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
_NOTHING = Affinity()


class NodeAffinity(Plugin):
    """Keep pods on the nodes their selector and affinity ask for, and prefer the nodes they would rather have.

    ``addedAffinity`` holds for every pod of the profile, on top of its own.
    """

    declaration = in_tree()["NodeAffinity"]
    row_local = True

    def __init__(self, args: NodeAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        added = args.added_affinity
        raw = added.model_dump(by_alias=True, exclude_none=True, mode="json") if added else {}
        self.added = msgspec.convert(raw, Affinity)

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        required = _affinity(pod).required
        if required is None and self.added.required is None and not pod.spec.node_selector:
            return SKIP
        problem = _unreadable(_affinity(pod))
        if problem is not None:
            return Reject.pod(problem)
        names = _named_nodes(required.node_selector_terms) if required else None
        if names is None:
            return None
        return Restrict(None, names) if names else Reject.pod(_CONFLICT)

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        allowed: Mask | None = None
        if self.added.required is not None:
            allowed = matching_rows(self.added.required, nodes)
            yield Reject(~allowed, _ENFORCED, resolvable=False)
        unwanted = ~_wanted_rows(pod, nodes)
        yield Reject(unwanted if allowed is None else unwanted & allowed, _POD, resolvable=False)

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        preferred = [*self.added.preferred, *_affinity(pod).preferred]
        return [term for term in preferred if term.weight] or SKIP

    def score(self, pod: Pod, nodes: NodeTable, state: Iterable[PreferredSchedulingTerm] | None) -> Scores:
        terms = (*self.added.preferred, *_affinity(pod).preferred) if state is None else state
        points = np.zeros(len(nodes), np.int64)
        for term in terms:
            # Upstream fails the attempt over a term it cannot read; here the term matches nothing.
            if is_sound(term.preference):
                points += term.weight * term_rows(term.preference, nodes)
        return points

    def normalize_score(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        return share_of_the_largest(scores, nodes.feasible)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if not self._accepts(pod, event.new):
            return SKIP
        return SKIP if event.old is not None and _wants(pod, event.old) else QUEUE

    def _accepts(self, pod: Pod, node: Node) -> bool:
        return (self.added.required is None or matches(self.added.required, node)) and _wants(pod, node)

    def signature(self, pod: Pod) -> Hashable:
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        return affinity, tuple(sorted((pod.spec.node_selector or {}).items()))


def _affinity(pod: Pod) -> Affinity:
    affinity = pod.spec.affinity
    return (affinity.node_affinity if affinity else None) or _NOTHING


def _wanted_rows(pod: Pod, nodes: NodeTable) -> Mask:
    wanted = labelled_rows(pod.spec.node_selector or {}, nodes)
    required = _affinity(pod).required
    return wanted if required is None else wanted & matching_rows(required, nodes)


def _wants(pod: Pod, node: Node) -> bool:
    required: NodeSelector | None = _affinity(pod).required
    labels = (pod.spec.node_selector or {}).items()
    return labels <= node.labels.items() and (required is None or matches(required, node))


def _named_nodes(terms: Iterable[NodeSelectorTerm]) -> frozenset[str] | None:
    """The only nodes that the terms' conditions on metadata.name allow; None when some term allows any node."""
    allowed: frozenset[str] | None = None
    for term in terms:
        named = [frozenset(each.values) for each in term.match_fields if (each.key, each.operator) == _BY_NAME]
        if not named:
            return None
        allowed = (allowed or frozenset()) | frozenset.intersection(*named)
    return allowed


_BY_NAME = ("metadata.name", "In")


def _unreadable(affinity: Affinity) -> str | None:
    """The first operator that does not exist. Any other flaw only makes its term match nothing, as upstream has it."""
    required = affinity.required.node_selector_terms if affinity.required else ()
    terms = [(term, f"{_REQUIRED_PATH}[{index}]") for index, term in enumerate(required)]
    terms += [
        (each.preference, f"{_PREFERRED_PATH}[{index}].preference") for index, each in enumerate(affinity.preferred)
    ]
    problems = (problem_in(term, path) for term, path in terms)
    return next((problem for problem in problems if problem and "].operator: " in problem), None)
