"""Questions that a decision puts to extenders, and their answers.

A decision never waits. Where extenders have a say, it ends with the question that it lacks an answer to. Its caller
asks them, and has the decision made again with the answer, about the cluster as it is by then:

    schedule ──► FilterQuestion ──► … ──► schedule ──► ScoreQuestion ──► … ──► schedule ──► placed
                                        └──► VictimQuestion ──► … ──► schedule ──► unschedulable, with a nomination
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from scheduler_runtime.api import Consulted, Pod, Reject, Victims
from scheduler_runtime.state.table import Table

EXTENDER = "Extender"
"""Upstream's name for all extenders, where it names the plugins that rejected a pod."""
MAX_ROUNDS = 3
"""How often extenders are asked which nodes they allow, when other nodes become feasible meanwhile."""


@dataclass(frozen=True, slots=True)
class FilterQuestion:
    """Asks which of these nodes the extenders allow."""

    nodes: Sequence[str]
    is_nominated_node: bool = False
    """Whether this is the node that the pod is nominated to, which is tried before the others."""
    is_sample: bool = False
    """Whether there may be more feasible nodes than these."""


@dataclass(frozen=True, slots=True)
class ScoreQuestion:
    """Asks for the scores of these nodes."""

    nodes: Sequence[str]


@dataclass(frozen=True, slots=True)
class VictimQuestion:
    """Asks which of these victims the pod may preempt, those of one node instead of the others."""

    candidates: Sequence[Victims]


Question = FilterQuestion | ScoreQuestion | VictimQuestion


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """The nodes that extenders allow, of those in the question."""

    question: FilterQuestion
    allowed: frozenset[str]
    rejects: Mapping[str, Reject] = field(default_factory=dict)
    """The reasons against other nodes, by node, as far as extenders gave any."""


@dataclass(frozen=True, slots=True)
class ExtenderAnswers:
    """All that extenders have answered about one pod so far; None where they have not been asked."""

    nominated_node: FilterAnswer | None = None
    filtered: FilterAnswer | None = None
    scores: Mapping[str, int] | None = None
    """The numbers that are added to the scores of nodes, weighted already."""
    victims: Consulted | None = None
    rounds: int = 0
    """How often they were asked which nodes they allow."""


class Extenders(Protocol):
    """The extenders that have a say about the pods of one profile."""

    @property
    def filter_or_score(self) -> bool:
        """True if one of them filters or scores nodes, whichever pods it is interested in."""
        ...

    def are_interested_in(self, pod: Pod) -> bool:
        """Return whether one of them is asked about nodes or victims for ``pod``."""
        ...

    def choose_victims(self, pod: Pod) -> bool:
        """Return whether one of them chooses among the victims of ``pod``."""
        ...

    async def answer(self, question: Question, pod: Pod, answers: ExtenderAnswers, table: Table) -> ExtenderAnswers:
        """Ask them, and return ``answers`` with theirs. Raises whatever keeps one from answering that has to."""
        ...

    async def bind(self, pod: Pod, node: str) -> bool:
        """Have ``pod`` bound by the one that binds such pods; return whether there is one. Raises when it fails."""
        ...
