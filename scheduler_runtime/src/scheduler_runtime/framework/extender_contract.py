"""What a decision has to ask outside of this process, and what it was told.

A decision never waits. Where extenders have a say, it ends by saying what it lacks; whoever made it asks, and has it
made anew with the answer, about the cluster as it is by then:

    decide ──► FilterQuestion ──► … ──► decide ──► ScoreQuestion ──► … ──► decide ──► placed
                                      └──► VictimQuestion ──► … ──► decide ──► unschedulable, with a nomination
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from scheduler_runtime.api import Consulted, Pod, Reject, Victims
from scheduler_runtime.state.table import Table

EXTENDER = "Extender"
"""What upstream calls all extenders where it names the plugins that rejected a pod."""
MAX_ROUNDS = 3
"""So often the extenders are asked which nodes do, while others come to be feasible meanwhile."""


@dataclass(frozen=True, slots=True)
class FilterQuestion:
    """Which of these nodes do."""

    nodes: Sequence[str]
    is_nominated_node: bool = False
    """Whether it is the one that the pod is nominated to, which is tried before the others."""
    is_sample: bool = False
    """Whether there may be more feasible nodes than these."""


@dataclass(frozen=True, slots=True)
class ScoreQuestion:
    """How good these nodes are."""

    nodes: Sequence[str]


@dataclass(frozen=True, slots=True)
class VictimQuestion:
    """Whether the pod may preempt these, each of them instead of the others."""

    candidates: Sequence[Victims]


Question = FilterQuestion | ScoreQuestion | VictimQuestion


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """Which nodes do, of those that were asked about."""

    question: FilterQuestion
    allowed: frozenset[str]
    rejects: Mapping[str, Reject] = field(default_factory=dict)
    """Why others do not, by node, as far as that was said."""


@dataclass(frozen=True, slots=True)
class ExtenderAnswers:
    """What extenders have said about one pod so far; None where they have not been asked."""

    nominated_node: FilterAnswer | None = None
    filtered: FilterAnswer | None = None
    scores: Mapping[str, int] | None = None
    """What is added to the scores of nodes, weighted already."""
    victims: Consulted | None = None
    rounds: int = 0
    """How often they were asked which nodes do."""


class Extenders(Protocol):
    """The extenders that have a say about the pods of one profile."""

    @property
    def weigh_nodes(self) -> bool:
        """Whether one of them is asked which nodes do, or how good they are, whichever pods it looks after."""
        ...

    def concern(self, pod: Pod) -> bool:
        """Whether one of them has a say in where ``pod`` goes."""
        ...

    def weigh_victims(self, pod: Pod) -> bool:
        """Whether one of them has a say in whom ``pod`` preempts."""
        ...

    async def answer(self, asks: Question, pod: Pod, advice: ExtenderAnswers, table: Table) -> ExtenderAnswers:
        """``advice``, with what they say to ``asks``. Raises whatever keeps one from answering that may not."""
        ...

    async def bind(self, pod: Pod, node: str) -> bool:
        """Have ``pod`` bound by the one that binds such pods; whether there is one. Raises when it fails."""
        ...
