"""What a plugin is given, what it may answer, and what each answer causes."""

from __future__ import annotations

from collections.abc import Coroutine, Hashable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any, ClassVar, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..catalog import HOOK_POINTS, Action, ClusterEvent, Declaration, PluginArgs, Rule, Watch
from ..catalog.declaration import UNPOINTED_HOOKS
from ..table import Ints, Mask, NodeTable
from ..wire import Pod

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
    """Why a pod cannot be on some nodes.

    ``rows`` are the nodes it speaks of, True for all. ``resolvable`` says where evicting pods could help, for all
    rows or by mask. ``pending`` says that the plugin waits for something it started itself.
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


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the filters said about every node, for ``post_filter``."""

    unresolvable: Mask
    """The nodes on which evicting pods would not help."""
    plugins: frozenset[str]
    """The plugins that rejected some node."""
    outright: frozenset[str] = frozenset()
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


class Binds(Protocol):
    """Sends bindings to the API server."""

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Bind the pod of this name and uid. Raises when the API server did not."""
        ...


class Trial(AbstractContextManager["Trial"], Protocol):
    """One node as it would be with other pods on it, while the filters are asked about it.

    What is changed ends with the ``with``. Only filters see it: counts over many nodes, which their states hold,
    follow by ``add_pod`` and ``remove_pod``; what scores and censuses count stays as it is.
    """

    def remove(self, *pods: Pod) -> None:
        """Take ``pods`` off the node. Raises KeyError when one is not there."""
        ...

    def add(self, pod: Pod) -> None:
        """Put ``pod`` on the node."""
        ...

    def fits(self) -> bool:
        """Whether the pod that is being placed could be on the node now, as :meth:`rejections`. Raises PluginError."""
        ...

    def rejections(self) -> Sequence[Reject]:
        """Why the pod that is being placed could not be on the node now: what the first plugin says that rejects it.

        Pods of its priority or a higher one that are nominated to the node count as being there; where it fits with
        them it also has to fit without, because they may end up elsewhere. Raises PluginError.
        """
        ...


class ManyTrials(AbstractContextManager["ManyTrials"], Protocol):
    """As :class:`Trial` for many nodes at once. Every sequence has one item per node, in the order of their rows."""

    @property
    def reasons(self) -> Mapping[str, int]:
        """Why nodes did not do when :meth:`fits` was asked for the first time, each with how many nodes."""
        ...

    def remove(self, pods: Sequence[Sequence[Pod]]) -> None:
        """Take pods off the nodes, some or none for each. Raises KeyError when one is not there."""
        ...

    def add(self, pods: Sequence[Sequence[Pod]]) -> None:
        """Put pods on the nodes, some or none for each."""
        ...

    def fits(self) -> Mask:
        """Where the pod that is being placed could be now.

        A node that did not do when this was asked for the first time is not looked at again.

        Nominated pods are considered as by :meth:`Trial.rejections`. Raises PluginError.
        """
        ...


class Preemptions(Protocol):
    """Takes pods off their nodes for others, and tells of it."""

    def attempted(self) -> None:
        """Count that somebody looked for pods to preempt."""
        ...

    def chosen(self, victims: int) -> None:
        """Count that somebody decided to preempt so many."""
        ...

    async def preempt(self, victim: Pod, preemptor: Pod, node: str, plugin: str) -> None:
        """Take ``victim`` off ``node`` so that ``preemptor`` has room.

        One that is not bound yet goes back to the queue. Any other gets the condition ``DisruptionTarget`` and is
        deleted; one that is gone already is no error. Raises when the API server does not do it.
        """
        ...

    async def clear_nomination(self, pod: Pod) -> None:
        """Take the nominated node of ``pod`` back. Raises when the API server does not do it."""
        ...


class WaitingPod(Protocol):
    """A pod that some plugin's ``permit`` holds."""

    @property
    def pod(self) -> Pod:
        """The pod."""
        ...

    @property
    def held_by(self) -> frozenset[str]:
        """The plugins that have not allowed it yet."""
        ...

    def allow(self, plugin: str) -> None:
        """Let ``plugin`` hold it no longer. It goes on when no plugin holds it."""
        ...

    def reject(self, plugin: str, reason: str) -> None:
        """Send it back to the queue."""
        ...


class Handle(Protocol):
    """What the scheduler lends to a plugin. One per profile and plugin, for as long as the profile runs."""

    @property
    def client(self) -> Binds:
        """The connection to the API server."""
        ...

    @property
    def random(self) -> Random:
        """Chance that a seed makes repeatable."""
        ...

    @property
    def version(self) -> str:
        """The Kubernetes version whose behaviour is asked for, such as ``v1.36.4``."""
        ...

    def enabled(self, gate: str) -> bool:
        """Whether that version's feature ``gate`` is on, by default or by the scheduler's ``--feature-gates``."""
        ...

    @property
    def preemptions(self) -> Preemptions:
        """Takes pods off their nodes."""
        ...

    def get(self, watch: Watch) -> Any:
        """The one object that a declared ``watch`` names; None when it does not exist."""
        ...

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """The object of a declared ``watch`` that has this name; None when there is none."""
        ...

    def list(self, watch: Watch) -> Iterable[Any]:
        """The objects of a declared ``watch``."""
        ...

    def revision(self, watch: Watch) -> int:
        """A number that changes with the objects of a declared ``watch``, for what is derived from all of them."""
        ...

    def what_if(
        self, node_name: str, add: Iterable[Pod] = (), remove: Iterable[Pod] = ()
    ) -> AbstractContextManager[NodeTable]:
        """The table as it would be with these pods on, and off, a node; undone at the end of the ``with``."""
        ...

    def trial(self, row: int) -> Trial:
        """Try the pod that is being placed on one node with other pods on it. Only in ``post_filter``."""
        ...

    def trials(self, rows: NDArray[np.intp]) -> ManyTrials | None:
        """Try the pod on many nodes at once, in a fraction of the time; the rows are different ones.

        None when some filter does not look at each node by itself: then they are tried one by one. Only in
        ``post_filter``.
        """
        ...

    def nominated_node(self, pod: Pod) -> str:
        """The node that ``pod`` is nominated to, as far as is known here; empty when there is none.

        A nomination is known from the decision on, before the pod's status says it.
        """
        ...

    def nominated_to(self, node: str) -> Iterable[Pod]:
        """The pods that are nominated to a node and wait for room there."""
        ...

    def latest(self, pod: Pod) -> Pod | None:
        """``pod`` as it is now on its node, bound or on its way; None when it is on none any more."""
        ...

    def invalidate(self) -> None:
        """Forget the verdicts of this plugin that were kept, because data of its own changed."""
        ...

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """The pods that a ``permit`` holds."""
        ...

    def activate(self, pods: Iterable[Pod]) -> None:
        """Try these parked pods again now."""
        ...

    def record(self, pod: Pod, reason: str, message: str, *, warning: bool = False) -> None:
        """Write an event about ``pod``."""
        ...


class Plugin:
    """A plugin: some of the hooks below, and what it declares about itself.

    One instance serves one profile. Hooks up to ``permit`` run inside the decision, one pod at a time, and must
    neither wait nor do I/O. Whatever a hook raises ends this pod's attempt, naming plugin and hook; the pod is
    tried again later and other pods are not concerned.

    A class may leave out any hook. In-tree plugins have their declaration in the catalog; any other class says the
    same with the attributes ``Args``, ``rules``, ``watches`` and ``events``.
    """

    declaration: ClassVar[Declaration | None] = None
    """The declaration, where it is kept apart from the class."""
    name: ClassVar[str] = ""
    """What documents call the plugin; the name of the class when empty."""
    Args: ClassVar[type[PluginArgs] | None] = None
    """The model of its arguments."""
    rules: ClassVar[tuple[Rule, ...]] = ()
    """Permissions beyond those that follow from ``watches``."""
    watches: ClassVar[tuple[Watch, ...]] = ()
    """Objects beyond pods and nodes that it reads through the handle."""
    events: ClassVar[tuple[ClusterEvent, ...]] = ()
    """Changes after which a pod it rejected is worth another attempt. Without any, only time brings the pod back."""
    row_local: ClassVar[bool] = False
    """Whether what it says about a node depends on that node and the pod's ``signature`` alone.

    Then it is kept, and only asked again about nodes that changed.
    """
    looks_at_pods: ClassVar[bool] = True
    """Whether what it says about a node depends on the pods that are on nodes.

    One that looks at taints, labels or images alone says False. What it says is kept by ``signature``, and it is asked
    again, about all nodes, when any node changed: so it need not be row-local, and may count the nodes with an image.
    """
    reads: ClassVar[tuple[str, ...]] = ()
    """Fields of pods or nodes beyond the decoded ones that it looks at, such as ``metadata.annotations``.

    A process that does not decode them refuses the plugin.
    """

    def __init__(self, args: Any, handle: Handle) -> None:
        self.args = args
        self.handle = handle

    def pre_enqueue(self, pod: Pod) -> Reject | None:
        """Run before ``pod`` enters the queue. A Reject keeps it out until an event that this plugin registered."""
        raise NotImplementedError

    def sort_key(self, entry: QueueEntry) -> Any:
        """Where ``entry`` stands in the queue: the smallest key is next. Computed at each push. One per process."""
        raise NotImplementedError

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        """Run once per attempt, before any filter. What it returns is handed to ``filter`` as ``state``.

        SKIP leaves out this plugin's ``filter``. ``Restrict`` narrows the nodes. A Reject fails the attempt: at once
        when it is not resolvable, otherwise after the other plugins' ``pre_filter`` ran.
        """
        raise NotImplementedError

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterable[Reject]:
        """Yield why ``pod`` cannot be on nodes. Rows that an earlier plugin rejected are ignored.

        Several reasons for one row all count; a row is unresolvable if any of them is. ``state`` is what
        ``pre_filter`` returned, None when it is not enabled.
        """
        raise NotImplementedError

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterable[Reject]:
        """As ``filter`` for one row, where preemption asks about a node at a time. Left out, ``filter`` is used."""
        raise NotImplementedError

    def add_pod(self, pod: Pod, nodes: NodeTable, state: Any, other: Pod, row: int) -> Any:
        """The filter state as it would be with ``other`` on the node in ``row``.

        ``state`` is a copy that may be changed: what its method ``clone`` or ``copy`` returns if it has one,
        otherwise ``copy.copy`` of it. A state whose parts are changed in place needs such a method.
        """
        raise NotImplementedError

    def remove_pod(self, pod: Pod, nodes: NodeTable, state: Any, other: Pod, row: int) -> Any:
        """The filter state as it would be without ``other`` on the node in ``row``. Given a copy to change."""
        raise NotImplementedError

    def post_filter(
        self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle
    ) -> Nomination | Reject | Iterable[str] | None:
        """Run when no node is feasible.

        A Nomination to a node ends it, and so does a Reject that is not resolvable. Reasons join the message and
        the next plugin is asked.
        """
        raise NotImplementedError

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        """Run once, before scoring, when more than one node is feasible. What it returns is the state of ``score``.

        SKIP leaves out this plugin's ``score``. Without this hook ``score`` gets the filter's state.
        """
        raise NotImplementedError

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        """How good each node is, as any numbers; as whole numbers from 0 to 100 without ``normalize_score``."""
        raise NotImplementedError

    def score_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> float:
        """As ``score`` for one row, where few nodes changed. Left out, ``score`` is used."""
        raise NotImplementedError

    def normalize_score(self, pod: Pod, nodes: NodeTable, scores: Scores, state: Any) -> Ints:
        """Turn what ``score`` returned into whole numbers from 0 to 100, higher for better."""
        raise NotImplementedError

    def reserve(self, pod: Pod, node: str, state: Any) -> Reject | None:
        """Take what ``pod`` needs on ``node`` beyond the table's resources. A Reject undoes the placement."""
        raise NotImplementedError

    def unreserve(self, pod: Pod, node: str, state: Any) -> None:
        """Give back what ``reserve`` took, also when it took nothing. Runs in reverse order, perhaps twice."""
        raise NotImplementedError

    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        """The last word before binding: let it, undo the placement, or hold the pod in the background."""
        raise NotImplementedError

    def pre_bind_flight(self, pod: Pod, node: str, state: Any) -> Answer:
        """Whether ``pre_bind`` has anything to do for ``pod`` (SKIP) and may run beside others (SERIAL, PARALLEL)."""
        raise NotImplementedError

    async def pre_bind(self, pod: Pod, node: str, state: Any) -> Reject | None:
        """Do in the background what must be done before binding. A Reject or raising undoes the placement."""
        raise NotImplementedError

    async def bind(self, pod: Pod, node: str, state: Any) -> Literal[Answer.SKIP] | None:
        """Bind ``pod`` to ``node``. SKIP passes on to the next plugin. Raising undoes the placement."""
        raise NotImplementedError

    def post_bind(self, pod: Pod, node: str, state: Any) -> None:
        """Run after ``pod`` was bound. Nothing can be undone any more."""
        raise NotImplementedError

    def hint(self, event: Event, pod: Pod) -> Answer:
        """Whether ``event`` may make ``pod`` schedulable, which this plugin rejected: QUEUE or SKIP.

        Left out, every registered event may. Raising counts as QUEUE.
        """
        raise NotImplementedError

    def signature(self, pod: Pod) -> Hashable | None:
        """All of ``pod`` that this plugin looks at. Pods with equal ones may share verdicts; None means never."""
        raise NotImplementedError


def hooks_of(plugin: type[Plugin]) -> frozenset[str]:
    """The hooks that a class implements."""
    return frozenset(
        hook for hook in (*HOOK_POINTS, *UNPOINTED_HOOKS) if getattr(plugin, hook) is not getattr(Plugin, hook)
    )


def declaration_of(plugin: type[Plugin]) -> Declaration:
    """What a class declares: its own declaration, or one made from its attributes and hooks."""
    if plugin.declaration is not None:
        return plugin.declaration
    return Declaration(
        name=plugin.name or plugin.__name__,
        hooks=tuple(sorted(hooks_of(plugin))),
        args=plugin.Args,
        rules=plugin.rules,
        watches=plugin.watches,
        events=plugin.events,
    )
