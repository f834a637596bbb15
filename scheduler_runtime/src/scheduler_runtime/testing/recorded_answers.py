"""What a plugin said of a pod, by the names of the nodes, so that two answers can be compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scheduler_runtime.testing.formatting import shortened

Reason = tuple[str, bool, bool]
"""What a Reject says of one node: the reason, whether evicting pods could help, whether the plugin waits."""
Reasons = Mapping[str, frozenset[Reason]]


@dataclass(frozen=True, slots=True)
class RecordedAnswers:
    """What a plugin said of a pod, by the names of the nodes."""

    whole: str = ""
    """Why it rejected the pod as a whole."""
    skipped: bool = False
    """Whether its ``pre_filter`` left its filter out."""
    reasons: Reasons = field(default_factory=dict)
    raw: Mapping[str, float] = field(default_factory=dict)
    """What ``score`` returned."""
    scores: Mapping[str, int] = field(default_factory=dict)
    """The same, normalised."""

    def of(self, name: str) -> tuple[frozenset[Reason], float | None]:
        """What it said of one node, whatever the others are."""
        return self.reasons.get(name, frozenset()), self.raw.get(name)

    def rejects(self, name: str) -> bool:
        """Whether the pod cannot be on this node."""
        return bool(self.whole or self.reasons.get(name))


def difference(one: RecordedAnswers, other: RecordedAnswers) -> str:
    """The first thing in which two answers differ, in words; empty when they do not."""
    if one.whole != other.whole:
        return f"the pod as a whole: {_of_whole(one)}; then {_of_whole(other)}"
    for name in sorted({*one.reasons, *other.reasons}):
        if words := difference_of_reasons(one.reasons.get(name), other.reasons.get(name)):
            return f"{name}: {words}"
    for name in sorted({*one.scores, *other.scores}):
        if one.scores.get(name) != other.scores.get(name) or not same_number(one.raw.get(name), other.raw.get(name)):
            return f"{name}: {_scored(one, name)}; then {_scored(other, name)}"
    return ""


def difference_of_reasons(one: frozenset[Reason] | None, other: frozenset[Reason] | None) -> str:
    """In which reasons two answers about a node differ, in words; empty when they do not."""
    if (one or frozenset()) == (other or frozenset()):
        return ""
    return f"{_worded(one)}; then {_worded(other)}"


def same_number(one: float | None, other: float | None) -> bool:
    """Whether two raw scores are equal, but for the last bits of a float."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def _worded(reasons: Iterable[Reason] | None) -> str:
    described = [
        f'"{shortened(reason)}"{" (resolvable)" if resolvable else ""}{" (pending)" if pending else ""}'
        for reason, resolvable, pending in sorted(reasons or ())
    ]
    return " and ".join(described) or "not rejected"


def _of_whole(said: RecordedAnswers) -> str:
    return f'"{shortened(said.whole)}"' if said.whole else "not rejected"


def _scored(said: RecordedAnswers, name: str) -> str:
    return f"scored {said.raw[name]}, normalised {said.scores[name]}" if name in said.scores else "not scored"
