"""Answers of plugins, and what each of them causes; the queue entries and events that plugins are given."""

from __future__ import annotations

from collections.abc import Coroutine, MutableMapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal

from numpy.typing import NDArray

from scheduler_runtime.catalog import Action
from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table import Mask

MAX_SCORE: Final = 100
"""The best normalised score. The worst is 0."""

Scores = NDArray[Any]
"""One number per node, in the table's order."""
Cycle = MutableMapping[str, Any]
"""What the plugins of one attempt share, by keys of their choice."""


class Answer(Enum):
    """Answers that carry nothing else."""

    SKIP = "skip"
    CLEAR = "clear"
    ALLOW = "allow"
    QUEUE = "queue"
    SERIAL = "serial"
    PARALLEL = "parallel"


SKIP: Final = Answer.SKIP
"""Nothing to do here: the plugin's hooks that build on this one do not run, or the next plugin is asked."""
CLEAR: Final = Answer.CLEAR
"""Take back the node nominated earlier."""
ALLOW: Final = Answer.ALLOW
"""The pod may be bound."""
QUEUE: Final = Answer.QUEUE
"""The event may have made the pod schedulable."""
SERIAL: Final = Answer.SERIAL
"""Run ``pre_bind`` after those of the plugins before."""
PARALLEL: Final = Answer.PARALLEL
"""Run ``pre_bind`` beside those of its neighbours that say the same."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A reason why a pod cannot be on some nodes.

    ``rows`` are these nodes, True for all. ``resolvable`` is where evicting pods could help, for all rows or by mask.
    ``pending`` is set if the plugin waits for something that it started itself.
    """

    rows: Mask | Literal[True]
    reason: str
    resolvable: Mask | bool = True
    pending: bool = False

    @classmethod
    def pod(cls, reason: str, *, resolvable: bool = False, pending: bool = False) -> Reject:
        """Reject the pod as a whole, in a hook that does not look at nodes one by one."""
        return cls(True, reason, resolvable, pending)


@dataclass(frozen=True, slots=True)
class Restrict:
    """An answer of ``pre_filter``: the state for the later hooks, and the only nodes that come into question."""

    state: Any
    node_names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Wait:
    """An answer of ``permit``: hold the pod until the plugin allows it, at most this long (15 minutes at most)."""

    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Nomination:
    """An answer of ``post_filter``: the node on which room is being made, and the work that makes it.

    A node ends ``post_filter``. CLEAR does not: the next plugin is asked, and what it answers wins.
    """

    node: str | Literal[Answer.CLEAR]
    work: Coroutine[Any, Any, None] | None = None
    reasons: tuple[str, ...] = ()
    """What joins the pod's message."""
    at_once: bool = False
    """Whether ``work`` is to be done before anything else is decided."""

    @property
    def node_name(self) -> str:
        """The node's name; empty for CLEAR."""
        return self.node if isinstance(self.node, str) else ""


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods that would have to leave a node, and how many of them a budget protects."""

    node: str
    pods: Sequence[Pod]
    violations: int = 0


@dataclass(frozen=True, slots=True)
class Consult:
    """An answer of ``post_filter``: extenders have a say in whom the pod preempts, and must be asked first.

    The decision is then made anew, with their answer in ``handle.consulted``.
    """

    candidates: Sequence[Victims]


@dataclass(frozen=True, slots=True)
class Consulted:
    """The victims that extenders allow, or the problem that kept them from answering."""

    candidates: Sequence[Victims] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The result of all filters about every node, for ``post_filter``."""

    unresolvable: Mask
    """The nodes on which evicting pods would not help."""
    plugins: frozenset[str]
    """The plugins that rejected some node."""
    ended_by: frozenset[str] = frozenset()
    """The plugin that rejected the pod for good in ``pre_filter``, so that those after it were not asked."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A pod in the queue, for ``sort_key``."""

    pod: Pod
    added_at: float
    attempts: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in the cluster. ``old`` is None when it was added, ``new`` when it was deleted."""

    resource: str
    action: Action
    old: Any = None
    new: Any = None
