"""The hooks of a plugin: when each runs, what it is given, and what it may answer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar, Literal

from scheduler_runtime.api.answers import (
    Answer,
    Consult,
    Cycle,
    Event,
    Nomination,
    QueueEntry,
    Reject,
    Scores,
    Verdicts,
    Wait,
)
from scheduler_runtime.api.handle import Handle
from scheduler_runtime.catalog import HOOK_POINTS, ClusterEvent, Declaration, PluginArgs, Rule, Watch
from scheduler_runtime.catalog.declaration import UNPOINTED_HOOKS
from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table import Ints, NodeTable


class Plugin:
    """A plugin: some of the hooks below, and what it declares about itself.

    One instance serves one profile. Hooks up to ``permit`` run inside the decision, one pod at a time, and must
    neither wait nor do I/O. Whatever a hook raises ends this pod's attempt, naming plugin and hook; the pod is
    tried again later and other pods are not concerned.

    Pods and nodes are what the API server said last, and never change: another version is another object. All hooks of
    one attempt are given the same version of the pod. Its ``metadata.resource_version`` changes with every write, also
    to what is not decoded, so that it tells one version from another, and nothing about what changed.

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
    """True if its answer about a node depends on that node and the pod's ``signature`` alone.

    Then the answer is cached, and the plugin is only asked again about nodes that changed.
    """
    looks_at_pods: ClassVar[bool] = True
    """True if its answer about a node depends on the pods that are on nodes.

    False for a plugin that looks at taints, labels or images alone. Its answers are cached by ``signature``, and it is
    asked again, about all nodes, when any node changed: so it need not be row-local, and may count the nodes that have
    an image.
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
        """Return the place of ``entry`` in the queue: the smallest key is next. Runs at each push. One per process."""
        raise NotImplementedError

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        """Run once per attempt, before any filter. What it returns is handed to ``filter`` as ``state``.

        SKIP leaves out this plugin's ``filter``. ``Restrict`` narrows the nodes. A Reject fails the attempt: at once
        when it is not resolvable, otherwise after the other plugins' ``pre_filter`` ran. After one that is resolvable
        preemption tries nodes with fewer pods, and asks this plugin's ``filter`` about them with None as ``state``.
        """
        raise NotImplementedError

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterable[Reject]:
        """Yield why ``pod`` cannot be on nodes. Rows that an earlier plugin rejected are ignored.

        Several reasons for one row all count; a row is unresolvable if any of them is. ``state`` is what
        ``pre_filter`` returned, None when it is not enabled or rejected the pod.
        """
        raise NotImplementedError

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterable[Reject]:
        """As ``filter`` for one row, where preemption asks about a node at a time. Left out, ``filter`` is used."""
        raise NotImplementedError

    def add_pod(self, pod: Pod, nodes: NodeTable, state: Any, other: Pod, row: int) -> Any:
        """Return the filter state as it would be with ``other`` on the node in ``row``.

        ``state`` is a copy that may be changed: what its method ``clone`` or ``copy`` returns if it has one,
        otherwise ``copy.copy`` of it. A state whose parts are changed in place needs such a method.
        """
        raise NotImplementedError

    def remove_pod(self, pod: Pod, nodes: NodeTable, state: Any, other: Pod, row: int) -> Any:
        """Return the filter state as it would be without ``other`` on the node in ``row``. Given a copy to change."""
        raise NotImplementedError

    def post_filter(
        self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle
    ) -> Nomination | Reject | Consult | Iterable[str] | None:
        """Run when no node is feasible.

        A Nomination to a node ends it, and so does a Reject that is not resolvable. Reasons join the message and
        the next plugin is asked. Consult asks extenders, after which the decision is made anew.
        """
        raise NotImplementedError

    def pre_score(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        """Run once, before scoring, when more than one node is feasible. What it returns is the state of ``score``.

        SKIP leaves out this plugin's ``score``. Without this hook ``score`` gets the filter's state.
        """
        raise NotImplementedError

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        """Return how good each node is, as any numbers; without ``normalize_score`` as whole numbers from 0 to 100."""
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
        """Let the pod be bound (ALLOW), undo the placement (Reject), or hold the pod in the background (Wait)."""
        raise NotImplementedError

    def pre_bind_flight(self, pod: Pod, node: str, state: Any) -> Answer:
        """Return SKIP if ``pre_bind`` has no work for ``pod``, PARALLEL if it may run beside others, or SERIAL."""
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
        """Return QUEUE if ``event`` may make ``pod`` schedulable, which this plugin rejected, and SKIP if not.

        Left out, every registered event may. Raising counts as QUEUE.
        """
        raise NotImplementedError

    def signature(self, pod: Pod) -> Hashable | None:
        """Return all of ``pod`` that this plugin looks at. Pods with equal ones share answers; None means never."""
        raise NotImplementedError


def hooks_of(plugin: type[Plugin]) -> frozenset[str]:
    """Return the hooks that a class implements."""
    return frozenset(_hooks_in_order(plugin))


def _hooks_in_order(plugin: type[Plugin]) -> tuple[str, ...]:
    """Return the hooks that a class implements, in the order in which they run."""
    every = (*HOOK_POINTS, *UNPOINTED_HOOKS)
    return tuple(hook for hook in every if getattr(plugin, hook) is not getattr(Plugin, hook))


def declaration_of(plugin: type[Plugin]) -> Declaration:
    """Return the declaration of a class: its own, or one made from its attributes and hooks."""
    if plugin.declaration is not None:
        return plugin.declaration
    return Declaration(
        name=plugin.name or plugin.__name__,
        hooks=_hooks_in_order(plugin),
        args=plugin.Args,
        rules=plugin.rules,
        watches=plugin.watches,
        events=plugin.events,
    )
