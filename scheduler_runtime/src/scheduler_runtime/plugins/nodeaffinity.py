"""NodeAffinity: node selectors and node affinity. Upstream: pkg/scheduler/framework/plugins/nodeaffinity."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from scheduler_runtime.api import (
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
    keeps_equal,
    share_of_the_largest,
)
from scheduler_runtime.catalog import in_tree
from scheduler_runtime.catalog.args import NodeAffinityArgs
from scheduler_runtime.plugins.matching import (
    any_term_rows,
    is_sound,
    labelled_rows,
    problem_in,
    sound_terms,
    term_matches,
    term_rows,
)
from scheduler_runtime.state import objects
from scheduler_runtime.state.objects import NodeSelectorTerm, PreferredSchedulingTerm

_POD = "node(s) didn't match Pod's node affinity/selector"
_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
_CONFLICT = "pod affinity terms conflict"
_REQUIRED_PATH = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_PREFERRED_PATH = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
_NO_AFFINITY = objects.NodeAffinity()
_BY_NAME = ("metadata.name", "In")


@dataclass(frozen=True, slots=True)
class RequiredTerms:
    """A pod's requirements on its node: all the labels, and one of the terms if there are any."""

    labels: Mapping[str, str]
    terms: tuple[NodeSelectorTerm, ...] | None

    @classmethod
    def of(cls, pod: Pod) -> RequiredTerms:
        """The requirements of ``pod``. Terms that cannot be read are left out: they match nothing."""
        required = _affinity(pod).required
        return cls(pod.spec.node_selector or {}, None if required is None else sound_terms(required))

    def rows(self, nodes: NodeTable) -> Mask:
        """The nodes that meet the requirements."""
        labelled = labelled_rows(self.labels, nodes)
        return labelled if self.terms is None else labelled & any_term_rows(self.terms, nodes)

    def matches(self, node: Node) -> bool:
        """True if ``node`` meets the requirements."""
        if not self.labels.items() <= node.labels.items():
            return False
        return self.terms is None or any(term_matches(term, node) for term in self.terms)


class NodeAffinity(Plugin):
    """Keep pods on the nodes their selector and affinity ask for, and prefer the nodes they would rather have.

    ``addedAffinity`` holds for every pod of the profile, on top of its own.
    """

    declaration = in_tree()["NodeAffinity"]
    row_local = True
    looks_at_pods = False

    def __init__(self, args: NodeAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        added = args.added_affinity
        raw = added.model_dump(by_alias=True, exclude_none=True, mode="json") if added else {}
        self.added = msgspec.convert(raw, objects.NodeAffinity)
        self.enforced = None if self.added.required is None else sound_terms(self.added.required)

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        required = _affinity(pod).required
        if required is None and self.enforced is None and not pod.spec.node_selector:
            return SKIP
        problem = _unreadable(_affinity(pod))
        if problem is not None:
            return Reject.pod(problem)
        names = _named_nodes(required.node_selector_terms) if required else None
        if names is None:
            return RequiredTerms.of(pod)
        return Restrict(RequiredTerms.of(pod), names) if names else Reject.pod(_CONFLICT)

    def filter(self, pod: Pod, nodes: NodeTable, state: RequiredTerms | None) -> Iterator[Reject]:
        matching = (state or RequiredTerms.of(pod)).rows(nodes)
        if self.enforced is None:
            yield Reject(~matching, _POD, resolvable=False)
            return
        allowed = any_term_rows(self.enforced, nodes)
        yield Reject(~allowed, _ENFORCED, resolvable=False)
        yield Reject(~matching & allowed, _POD, resolvable=False)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: RequiredTerms | None, row: int) -> Iterator[Reject]:
        node = nodes.node(row)
        if self.enforced is not None and not any(term_matches(term, node) for term in self.enforced):
            yield Reject(True, _ENFORCED, resolvable=False)
        elif not (state or RequiredTerms.of(pod)).matches(node):
            yield Reject(True, _POD, resolvable=False)

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        preferred = [*self.added.preferred, *_affinity(pod).preferred]
        if not any(term.weight for term in preferred):
            return SKIP
        # Upstream fails the attempt over a term it cannot read; here the term matches nothing.
        return [term for term in preferred if term.weight and is_sound(term.preference)]

    def score(self, pod: Pod, nodes: NodeTable, state: Sequence[PreferredSchedulingTerm] | None) -> Scores:
        points = np.zeros(len(nodes), np.int64)
        for term in self._preferred(pod, state):
            rows = term_rows(term.preference, nodes)
            if rows is not False:
                points += term.weight * rows
        return points

    def score_row(self, pod: Pod, nodes: NodeTable, state: Sequence[PreferredSchedulingTerm] | None, row: int) -> int:
        node = nodes.node(row)
        return sum(term.weight for term in self._preferred(pod, state) if term_matches(term.preference, node))

    def _preferred(
        self, pod: Pod, state: Sequence[PreferredSchedulingTerm] | None
    ) -> Iterable[PreferredSchedulingTerm]:
        if state is not None:
            return state
        preferred = (*self.added.preferred, *_affinity(pod).preferred)
        return (term for term in preferred if is_sound(term.preference))

    @keeps_equal
    def normalize_score(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        return share_of_the_largest(scores, nodes.feasible)

    def hint(self, event: Event, pod: Pod) -> Answer:
        # Upstream overlooks a node that only the added affinity did not allow before: its pods wait in vain.
        was_refused = event.old is None or not self._accepts(pod, event.old)
        return QUEUE if was_refused and self._accepts(pod, event.new) else SKIP

    def _accepts(self, pod: Pod, node: Node) -> bool:
        is_allowed = self.enforced is None or any(term_matches(term, node) for term in self.enforced)
        return is_allowed and RequiredTerms.of(pod).matches(node)

    def signature(self, pod: Pod) -> Hashable:
        selector = pod.spec.node_selector
        return _own_affinity(pod), frozenset(selector.items()) if selector else None


def _affinity(pod: Pod) -> objects.NodeAffinity:
    return _own_affinity(pod) or _NO_AFFINITY


def _own_affinity(pod: Pod) -> objects.NodeAffinity | None:
    affinity = pod.spec.affinity
    return affinity.node_affinity if affinity else None


def _named_nodes(terms: Iterable[NodeSelectorTerm]) -> frozenset[str] | None:
    """The only nodes that the terms' conditions on metadata.name allow; None when some term allows any node."""
    allowed: set[str] | None = None
    for term in terms:
        named = [frozenset(field.values) for field in term.match_fields if (field.key, field.operator) == _BY_NAME]
        if not named:
            return None
        # Conditions of one term must all hold, and any of the terms may.
        allowed = set() if allowed is None else allowed
        allowed.update(frozenset.intersection(*named))
    return None if allowed is None else frozenset(allowed)


def _unreadable(affinity: objects.NodeAffinity) -> str | None:
    """A sentence about the first operator that does not exist; None when all exist.

    Any other mistake only makes its term match nothing, as upstream's NewLazyErrorNodeSelector has it.
    """
    required = affinity.required.node_selector_terms if affinity.required else ()
    terms = [(term, f"{_REQUIRED_PATH}[{index}]") for index, term in enumerate(required)]
    terms += [
        (term.preference, f"{_PREFERRED_PATH}[{index}].preference") for index, term in enumerate(affinity.preferred)
    ]
    problems = (problem_in(term, path) for term, path in terms)
    return next((problem for problem in problems if problem and "].operator: " in problem), None)
