"""A scheduler's decision about one pod with its reasons, in the form in which two are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Scores = Mapping[str, Mapping[str, int]]
NOTE_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision."""

    pod: str
    node: str = ""
    """Where the pod goes; empty when nowhere."""
    feasible: frozenset[str] = frozenset()
    scores: Scores = field(default_factory=dict)
    """By plugin and node, normalised and weighted. Empty where fewer than two nodes are feasible."""
    totals: Mapping[str, int] = field(default_factory=dict)
    message: str = ""
    """Why it goes nowhere, as the pod's condition says it."""
    note: str = ""
    """The same as its event says it."""
    nominated: str = ""
    victims: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """For each node on which preemption would make room, the pods that it would evict."""
    best_candidates: frozenset[str] = frozenset()
    """The nodes among which preemption may choose."""
    gate: str = ""
    """What keeps it out of the queue."""


def shortened(message: str) -> str:
    """A message as an event holds it."""
    encoded = message.encode()
    if len(encoded) <= NOTE_BYTES:
        return message
    return encoded[: NOTE_BYTES - 4].decode(errors="ignore") + " ..."
