"""What the process lends to the plugins of a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import Binds, Consulted, NodeTable, Pod, Preemptions, WaitingPod, Watch
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework.answer_cache import AnswerCache
from scheduler_runtime.framework.extender_contract import ExtenderAnswers, Extenders
from scheduler_runtime.framework.point_metrics import Measures, Unmeasured
from scheduler_runtime.framework.progress import Progress
from scheduler_runtime.framework.sampling import SearchPosition
from scheduler_runtime.framework.waiting_pods import PermitWait
from scheduler_runtime.framework.what_if import NodeWhatIf, WhatIf
from scheduler_runtime.framework.what_if_many import NodesWhatIf
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.table import Table


class Objects(Protocol):
    """The objects that plugins watch beyond pods and nodes."""

    def get(self, watch: Watch) -> Any:
        """The one object that ``watch`` names, or None."""
        ...

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """The object of ``watch`` that has this name, or None."""
        ...

    def list(self, watch: Watch) -> Iterable[Any]:
        """The objects of ``watch``."""
        ...

    def revision(self, watch: Watch) -> int:
        """A number that changes with the objects of ``watch``."""
        ...


class NoPreemptions:
    """Where there is no API server nobody is preempted."""

    def count_attempt(self) -> None:
        """Count nothing."""

    def count_victims(self, victims: int) -> None:
        """Count nothing."""

    async def preempt(self, victim: Pod, preemptor: Pod, node: str, plugin: str) -> None:
        """Raises ConnectionError."""
        raise ConnectionError(f"no API server to delete {victim.key} for {preemptor.key}")

    async def clear_nomination(self, pod: Pod) -> None:
        """Raises ConnectionError."""
        raise ConnectionError(f"no API server to take back the nominated node of {pod.key}")


@dataclass(frozen=True, slots=True)
class PluginServices:
    """The process behind the plugins. Without ``objects`` a plugin that watches anything is refused."""

    binds: Binds
    record: Callable[[Pod, str, str, bool], None]
    """Write an event: pod, reason, message, whether it is a warning."""
    activate: Callable[[Iterable[Pod]], None]
    """Try parked pods again now."""
    objects: Objects | None = None
    nominations: Nominations = field(default_factory=Nominations)
    """Which pods are nominated where: of all profiles, as they share the nodes."""
    preemptions: Preemptions = field(default_factory=NoPreemptions)
    metrics: Measures = field(default_factory=Unmeasured)
    """Where it is noted how long plugins take."""
    search_position: SearchPosition = field(default_factory=SearchPosition)
    """Where the search for feasible nodes goes on: of all profiles, as they share the nodes."""
    progress: Progress = field(default_factory=Progress)
    """Where it is noted what pods wait for on their way to a node: of all profiles."""
    latest: Callable[[Pod], Pod | None] = lambda pod: pod
    """A pod as it is now on its node; None when it is on none."""


class FrameworkContext:
    """What the handles of one profile share."""

    def __init__(self, services: PluginServices, target: Target, random: Random) -> None:
        self.services = services
        self.target = target
        self.random = random
        self.table: Table | None = None
        self.trials: WhatIf | None = None
        self.waiting: dict[str, PermitWait] = {}
        self.classes: AnswerCache | None = None
        self.extenders: Extenders | None = None
        self.advice: ExtenderAnswers | None = None


class PluginHandle:
    """The handle of one plugin."""

    def __init__(self, plugin: str, watches: tuple[Watch, ...], context: FrameworkContext) -> None:
        self._plugin = plugin
        self._watches = watches
        self._context = context

    @property
    def client(self) -> Binds:
        """The connection to the API server."""
        return self._context.services.binds

    @property
    def random(self) -> Random:
        """Chance that a seed makes repeatable."""
        return self._context.random

    @property
    def version(self) -> str:
        """The Kubernetes version whose behaviour is asked for."""
        return str(self._context.target.version)

    def enabled(self, gate: str) -> bool:
        """Whether the feature gate is on."""
        return self._context.target.enabled(gate)

    def get(self, watch: Watch) -> Any:
        """The one object that a declared ``watch`` names. Raises LookupError when it was not declared."""
        return self._objects(watch).get(watch)

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """The object of a declared ``watch`` that has this name. Raises LookupError when it was not declared."""
        return self._objects(watch).find(watch, name, namespace)

    def list(self, watch: Watch) -> Iterable[Any]:
        """The objects of a declared ``watch``. Raises LookupError when it was not declared."""
        return self._objects(watch).list(watch)

    def revision(self, watch: Watch) -> int:
        """A number that changes with the objects of a declared ``watch``. Raises LookupError as the others."""
        return self._objects(watch).revision(watch)

    def _objects(self, watch: Watch) -> Objects:
        objects = self._context.services.objects
        if objects is None or watch not in self._watches:
            raise LookupError(f"{self._plugin} does not declare that it watches {watch.kind}; add it to its watches")
        return objects

    @contextmanager
    def what_if(self, node_name: str, add: Iterable[Pod] = (), remove: Iterable[Pod] = ()) -> Iterator[NodeTable]:
        """The table as it would be with these pods on, and off, a node; undone at the end of the ``with``."""
        table = self._context.table
        if table is None:
            raise RuntimeError(f"{self._plugin} asks what_if outside of a decision")
        added, removed = list(add), list(remove)
        with ExitStack() as undo:  # Only what was done: any of it may fail.
            for pod in removed:
                undo.callback(table.add_pod, table.remove_pod(pod, node_name), node_name)
            for pod in added:
                table.add_pod(pod, node_name)
                undo.callback(table.remove_pod, pod, node_name)
            yield NodeTable(table, np.ones(len(table), np.bool_))

    @property
    def preemptions(self) -> Preemptions:
        """Takes pods off their nodes."""
        return self._context.services.preemptions

    def trial(self, row: int) -> NodeWhatIf:
        """Try the pod that is being placed on one node with other pods on it. Only in ``post_filter``."""
        if self._context.trials is None:
            raise RuntimeError(f"{self._plugin} tries a node outside of post_filter")
        return self._context.trials.trial(row)

    def trials(self, rows: NDArray[np.intp]) -> NodesWhatIf | None:
        """Try the pod on many nodes at once, where all filters look at each node by itself. Only in ``post_filter``."""
        if self._context.trials is None:
            raise RuntimeError(f"{self._plugin} tries nodes outside of post_filter")
        return self._context.trials.together(rows)

    def consults(self, pod: Pod) -> bool:
        """Whether extenders have a say in whom ``pod`` preempts. Only in ``post_filter``."""
        context = self._context
        return context.advice is not None and context.extenders is not None and context.extenders.weigh_victims(pod)

    @property
    def consulted(self) -> Consulted | None:
        """What extenders say about whom the pod preempts; None when they have not been asked."""
        return self._context.advice.victims if self._context.advice else None

    def nominated_node(self, pod: Pod) -> str:
        """The node that ``pod`` is nominated to, as far as is known here; empty when there is none."""
        return self._context.services.nominations.node_of(pod)

    def nominated_to(self, node: str) -> Iterable[Pod]:
        """The pods that are nominated to a node and wait for room there."""
        return self._context.services.nominations.nominated_to(node)

    def latest(self, pod: Pod) -> Pod | None:
        """``pod`` as it is now on its node, bound or on its way; None when it is on none any more."""
        return self._context.services.latest(pod)

    def invalidate(self) -> None:
        """Forget the verdicts of this plugin that were kept."""
        if self._context.classes is not None:
            self._context.classes.forget()

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """The pods that a ``permit`` holds."""
        return tuple(self._context.waiting.values())

    def activate(self, pods: Iterable[Pod]) -> None:
        """Try these parked pods again now."""
        self._context.services.activate(pods)

    def record(self, pod: Pod, reason: str, message: str, *, warning: bool = False) -> None:
        """Write an event about ``pod``."""
        self._context.services.record(pod, reason, message, warning)
