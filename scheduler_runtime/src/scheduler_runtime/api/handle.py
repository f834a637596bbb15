"""The handle of a plugin: the parts of the scheduler that a plugin can use."""

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
        """Return whether :meth:`rejections` would be empty. Raises PluginError."""
        ...

    def rejections(self) -> Sequence[Reject]:
        """Return why the pod that is being placed cannot be on the node now: the reasons of the first plugin.

        Pods of its priority or a higher one that are nominated to the node count as being there; where it fits with
        them it also has to fit without, because they may end up elsewhere. Raises PluginError.
        """
        ...


class NodesWhatIf(AbstractContextManager["NodesWhatIf"], Protocol):
    """As :class:`NodeWhatIf` for many nodes at once. Sequences have one item per node, in the order of their rows."""

    @property
    def reasons(self) -> Mapping[str, int]:
        """The reasons against nodes when :meth:`fits` was called for the first time, each with how many nodes."""
        ...

    def remove(self, pods: Sequence[Sequence[Pod]]) -> None:
        """Take pods off the nodes, some or none for each. Raises KeyError when one is not there."""
        ...

    def add(self, pods: Sequence[Sequence[Pod]]) -> None:
        """Put pods on the nodes, some or none for each."""
        ...

    def fits(self) -> Mask:
        """Return where the pod that is being placed could be now.

        A node on which it could not be at the first call is not looked at again. Nominated pods are considered as by
        :meth:`NodeWhatIf.rejections`. Raises PluginError.
        """
        ...


class Preemptions(Protocol):
    """Takes pods off their nodes for others, counts that, and writes the events and conditions."""

    def count_attempt(self) -> None:
        """Count that a plugin looked for pods to preempt."""
        ...

    def count_victims(self, victims: int) -> None:
        """Count that a plugin decided to preempt so many pods."""
        ...

    async def preempt(self, victim: Pod, preemptor: Pod, node: str, plugin: str) -> None:
        """Take ``victim`` off ``node`` so that ``preemptor`` has room.

        One that is not bound yet goes back to the queue. Any other gets the condition ``DisruptionTarget`` and is
        deleted; one that has left already is no error. Each victim is asked once: whoever needs the room of one that
        is being asked waits for the outcome. Raises when the API server does not do it.
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
    """The way from a plugin to its scheduler. One per profile and plugin, for as long as the profile runs."""

    @property
    def client(self) -> Binds:
        """The connection to the API server."""
        ...

    @property
    def random(self) -> Random:
        """Random numbers that a seed makes repeatable."""
        ...

    @property
    def version(self) -> str:
        """The Kubernetes version whose behaviour is followed, such as ``v1.36.4``."""
        ...

    def enabled(self, gate: str) -> bool:
        """Return whether the version's feature ``gate`` is on, by default or by the scheduler's ``--feature-gates``."""
        ...

    @property
    def preemptions(self) -> Preemptions:
        """The part of the scheduler that takes pods off their nodes."""
        ...

    def get(self, watch: Watch) -> Any:
        """Return the one object that a declared ``watch`` names; None when it does not exist."""
        ...

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """Return the object of a declared ``watch`` that has this name; None when there is none."""
        ...

    def list(self, watch: Watch) -> Iterable[Any]:
        """Return the objects of a declared ``watch``.

        Of pods and nodes it is the scheduler's own copy, which holds the pod that is being decided about and leaves out
        pods that have ended.
        """
        ...

    def revision(self, watch: Watch) -> int:
        """Return a number that changes with the objects of a declared ``watch``, to derive things from them once."""
        ...

    def what_if(
        self, node_name: str, add: Iterable[Pod] = (), remove: Iterable[Pod] = ()
    ) -> AbstractContextManager[NodeTable]:
        """Yield the table as it would be with these pods on, and off, a node; undone at the end of the ``with``."""
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
        """Return whether extenders have a say in the victims of ``pod``: ``post_filter`` has to answer Consult then."""
        ...

    @property
    def consulted(self) -> Consulted | None:
        """The answer of extenders to that; None when they have not been asked yet."""
        ...

    def nominated_node(self, pod: Pod) -> str:
        """Return the node that ``pod`` is nominated to, as far as is known here; empty when there is none.

        A nomination is known from the decision on, before the pod's status says it.
        """
        ...

    def nominated_to(self, node: str) -> Iterable[Pod]:
        """Return the pods that are nominated to a node and wait for room there."""
        ...

    def is_leaving(self, pod: Pod) -> bool:
        """Return whether ``pod`` is being deleted, or has been claimed to make room for another one.

        A claimed pod leaves, though the watch has not shown that yet.
        """
        ...

    def claim_victims(self, preemptor: Pod, victims: Iterable[Pod]) -> None:
        """Count ``victims`` as leaving from now on, because ``preemptor`` needs their room.

        For a ``post_filter`` whose work preempts them later. That work ends with :meth:`release_victims`, in a
        ``finally``. It is always run, unless the process ends before.
        """
        ...

    def release_victims(self, preemptor: Pod, victims: Iterable[Pod]) -> None:
        """Take back the claims of ``preemptor``; victims that were preempted meanwhile leave all the same."""
        ...

    def latest(self, pod: Pod) -> Pod | None:
        """Return ``pod`` as it is now on its node, bound or on its way; None when it is on none any more."""
        ...

    def invalidate(self) -> None:
        """Forget the cached answers, because data of the plugin's own changed."""
        ...

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Return the pods that a ``permit`` holds."""
        ...

    def activate(self, pods: Iterable[Pod]) -> None:
        """Try these parked pods again now."""
        ...

    def record(self, pod: Pod, reason: str, message: str, *, warning: bool = False) -> None:
        """Write an event about ``pod``."""
        ...
