"""What the scheduler lends to a plugin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from random import Random
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api.answers import Consulted, Reject
from scheduler_runtime.catalog import Watch
from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.table import Mask, NodeTable


class Binds(Protocol):
    """Sends bindings to the API server."""

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Bind the pod of this name and uid. Raises when the API server did not."""
        ...


class NodeWhatIf(AbstractContextManager["NodeWhatIf"], Protocol):
    """One node as it would be with other pods on it, while the filters are asked about it.

    What is changed ends with the ``with``. Only filters see it: counts over many nodes, which their states hold,
    follow by ``add_pod`` and ``remove_pod``; scored requests and match counts stay as they are.
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


class NodesWhatIf(AbstractContextManager["NodesWhatIf"], Protocol):
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

    def count_attempt(self) -> None:
        """Count that somebody looked for pods to preempt."""
        ...

    def count_victims(self, victims: int) -> None:
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
        """The objects of a declared ``watch``.

        Of pods and nodes it is the scheduler's own copy, which holds the pod that is being decided about and leaves out
        pods that have ended.
        """
        ...

    def revision(self, watch: Watch) -> int:
        """A number that changes with the objects of a declared ``watch``, for what is derived from all of them."""
        ...

    def what_if(
        self, node_name: str, add: Iterable[Pod] = (), remove: Iterable[Pod] = ()
    ) -> AbstractContextManager[NodeTable]:
        """The table as it would be with these pods on, and off, a node; undone at the end of the ``with``."""
        ...

    def trial(self, row: int) -> NodeWhatIf:
        """Try the pod that is being placed on one node with other pods on it. Only in ``post_filter``."""
        ...

    def trials(self, rows: NDArray[np.intp]) -> NodesWhatIf | None:
        """Try the pod on many nodes at once, in a fraction of the time; the rows are different ones.

        None when some filter does not look at each node by itself: then they are tried one by one. Only in
        ``post_filter``.
        """
        ...

    def consults(self, pod: Pod) -> bool:
        """Whether extenders have a say in whom ``pod`` preempts: then ``post_filter`` has to answer with Consult."""
        ...

    @property
    def consulted(self) -> Consulted | None:
        """What extenders say to that; None when they have not been asked yet."""
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
