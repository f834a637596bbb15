"""The handle of a plugin: the way from a plugin to its scheduler, as ``scheduler_runtime.api.Handle`` promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import (
    Binds,
    Consulted,
    NodesWhatIf,
    NodeTable,
    NodeWhatIf,
    Pod,
    Preemptions,
    WaitingPod,
    Watch,
)
from scheduler_runtime.framework.context import FrameworkContext, ReadableObjects


class PluginHandle:
    """The handle of one plugin of one profile."""

    def __init__(self, plugin: str, watches: tuple[Watch, ...], context: FrameworkContext) -> None:
        self._plugin = plugin
        self._watches = watches
        self._context = context
        self._claimed = context.services.victims.uids

    @property
    def client(self) -> Binds:
        """The connection to the API server."""
        return self._context.services.binds

    @property
    def random(self) -> Random:
        """Random numbers that a seed makes repeatable."""
        return self._context.random

    @property
    def version(self) -> str:
        """The Kubernetes version whose behaviour is followed."""
        return str(self._context.target.version)

    def enabled(self, gate: str) -> bool:
        """Return whether the feature gate is on."""
        return self._context.target.enabled(gate)

    # Watched objects.

    def get(self, watch: Watch) -> Any:
        """Return the one object that a declared ``watch`` names. Raises LookupError when it was not declared."""
        return self._objects(watch).get(watch)

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """Return the object of a declared ``watch`` that has this name. Raises LookupError if it was not declared."""
        return self._objects(watch).find(watch, name, namespace)

    def list(self, watch: Watch) -> Iterable[Any]:
        """Return the objects of a declared ``watch``. Raises LookupError when it was not declared."""
        return self._objects(watch).list(watch)

    def revision(self, watch: Watch) -> int:
        """Return a number that changes with the objects of a declared ``watch``. Raises LookupError as the others."""
        return self._objects(watch).revision(watch)

    def _objects(self, watch: Watch) -> ReadableObjects:
        objects = self._context.services.objects
        if objects is None or watch not in self._watches:
            raise LookupError(f"{self._plugin} does not declare that it watches {watch.kind}; add it to its watches")
        return objects

    # Nodes with other pods on them.

    @contextmanager
    def what_if(self, node_name: str, add: Iterable[Pod] = (), remove: Iterable[Pod] = ()) -> Iterator[NodeTable]:
        """Yield the table as it would be with these pods on, and off, a node; undone at the end of the ``with``."""
        table = self._context.table
        if table is None:
            raise RuntimeError(f"{self._plugin} asks what_if outside of a decision")
        added, removed = list(add), list(remove)
        with ExitStack() as undo:  # Each step registers its own undoing, as any later one may raise.
            for pod in removed:
                undo.callback(table.add_pod, table.remove_pod(pod, node_name), node_name)
            for pod in added:
                table.add_pod(pod, node_name)
                undo.callback(table.remove_pod, pod, node_name)
            yield NodeTable(table, np.ones(len(table), np.bool_))

    def trial(self, row: int) -> NodeWhatIf:
        """Try the pod that is being placed on one node with other pods on it. Only in ``post_filter``."""
        if self._context.what_if is None:
            raise RuntimeError(f"{self._plugin} tries a node outside of post_filter")
        return self._context.what_if.trial(row)

    def trials(self, rows: NDArray[np.intp]) -> NodesWhatIf | None:
        """Try the pod on many nodes at once, where all filters look at each node by itself. Only in ``post_filter``."""
        if self._context.what_if is None:
            raise RuntimeError(f"{self._plugin} tries nodes outside of post_filter")
        return self._context.what_if.trials(rows)

    # Preemption.

    @property
    def preemptions(self) -> Preemptions:
        """The part of the scheduler that takes pods off their nodes."""
        return self._context.services.preemptions

    def consults(self, pod: Pod) -> bool:
        """Return whether extenders have a say in the victims of ``pod``. Only in ``post_filter``."""
        context = self._context
        return context.answers is not None and context.extenders is not None and context.extenders.choose_victims(pod)

    @property
    def consulted(self) -> Consulted | None:
        """The victims that extenders allow; None when they have not been asked."""
        return self._context.answers.victims if self._context.answers else None

    def nominated_node(self, pod: Pod) -> str:
        """Return the node that ``pod`` is nominated to, as far as is known here; empty when there is none."""
        return self._context.services.nominations.node_of(pod)

    def nominated_to(self, node: str) -> Iterable[Pod]:
        """Return the pods that are nominated to a node and wait for room there."""
        return self._context.services.nominations.nominated_to(node)

    def is_leaving(self, pod: Pod) -> bool:
        """Return whether ``pod`` is being deleted, or has been claimed to make room for another one."""
        return pod.metadata.deletion_timestamp is not None or pod.metadata.uid in self._claimed

    def claim_victims(self, preemptor: Pod, victims: Iterable[Pod]) -> None:
        """Count ``victims`` as leaving from now on, because ``preemptor`` needs their room."""
        self._context.services.victims.claim(preemptor, victims)

    def release_victims(self, preemptor: Pod, victims: Iterable[Pod]) -> None:
        """Take back the claims of ``preemptor``; victims that were preempted meanwhile leave all the same."""
        self._context.services.victims.release(preemptor, victims)

    def latest(self, pod: Pod) -> Pod | None:
        """Return ``pod`` as it is now on its node, bound or on its way; None when it is on none any more."""
        return self._context.services.latest(pod)

    # The queue, permits, events, cached answers.

    def invalidate(self) -> None:
        """Forget the cached answers, because data of the plugin's own changed."""
        self._context.invalidate()

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Return the pods that a ``permit`` holds."""
        return tuple(self._context.waiting.values())

    def activate(self, pods: Iterable[Pod]) -> None:
        """Try these parked pods again now."""
        self._context.services.activate(pods)

    def record(self, pod: Pod, reason: str, message: str, *, warning: bool = False) -> None:
        """Write an event about ``pod``."""
        self._context.services.record(pod, reason, message, warning)
