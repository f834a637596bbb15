"""The things that the parts of one framework share: the process behind its plugins, and the decision under way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from scheduler_runtime.api import Binds, Pod, Preemptions, Watch
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework.extender_contract import ExtenderAnswers, Extenders
from scheduler_runtime.framework.permit_waits import PermitWait
from scheduler_runtime.framework.plugin_times import Measures, Unmeasured
from scheduler_runtime.framework.progress import Progress
from scheduler_runtime.framework.sampling import SearchPosition
from scheduler_runtime.framework.what_if import WhatIf
from scheduler_runtime.state.claimed_victims import ClaimedVictims
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.table import Table


class ReadableObjects(Protocol):
    """The objects that plugins watch beyond pods and nodes."""

    def get(self, watch: Watch) -> Any:
        """Return the one object that ``watch`` names, or None."""
        ...

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """Return the object of ``watch`` that has this name, or None."""
        ...

    def list(self, watch: Watch) -> Iterable[Any]:
        """Return the objects of ``watch``."""
        ...

    def revision(self, watch: Watch) -> int:
        """Return a number that changes with the objects of ``watch``."""
        ...


class NoPreemptions:
    """Preemption without an API server: it counts nothing and fails."""

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
    """Writes an event: pod, reason, message, whether it is a warning."""
    activate: Callable[[Iterable[Pod]], None]
    """Tries parked pods again now."""
    objects: ReadableObjects | None = None
    nominations: Nominations = field(default_factory=Nominations)
    """The nominated nodes of waiting pods: of all profiles, as they share the nodes."""
    victims: ClaimedVictims = field(default_factory=ClaimedVictims)
    """The pods that have to leave their nodes: for preemptors of all profiles, as they share the nodes."""
    preemptions: Preemptions = field(default_factory=NoPreemptions)
    metrics: Measures = field(default_factory=Unmeasured)
    search_position: SearchPosition = field(default_factory=SearchPosition)
    """The node at which the next search for feasible nodes begins: of all profiles, as they share the nodes."""
    progress: Progress = field(default_factory=Progress)
    latest: Callable[[Pod], Pod | None] = lambda pod: pod
    """Returns a pod as it is now on its node; None when it is on none."""


class FrameworkContext:
    """The things that the plugin handles of one profile and its framework share.

    ``table``, ``answers`` and ``what_if`` are there during a decision only. Nobody else assigns them: a decision is a
    ``with context.decision(…)``, one at a time, as deciding is synchronous.
    """

    def __init__(
        self, services: PluginServices, target: Target, random: Random, extenders: Extenders | None = None
    ) -> None:
        self.services = services
        self.target = target
        self.random = random
        self.extenders = extenders
        self.waiting: dict[str, PermitWait] = {}
        """The pods that wait for a permit, by uid."""
        self.invalidations = 0
        """How often a plugin called ``handle.invalidate``: the cache compares, as plugins are made before it."""
        # None between decisions, so that a handle refuses questions that only make sense in one.
        self.table: Table | None = None
        self.answers: ExtenderAnswers | None = None
        self.what_if: WhatIf | None = None
        """Tries pods on nodes, for ``post_filter``."""

    def decision(self, table: Table, answers: ExtenderAnswers | None = None) -> FrameworkContext:
        """Let the handles see a decision about the nodes of ``table`` until the ``with`` ends."""
        self.table, self.answers = table, answers
        return self

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        self.table = self.answers = self.what_if = None

    def open_what_if(self, what_if: WhatIf) -> None:
        """Let ``post_filter`` try the pod on nodes, until the decision ends."""
        self.what_if = what_if

    def invalidate(self) -> None:
        """Have cached answers forgotten before the next decision."""
        self.invalidations += 1

    def share_permit_waits(self, before: FrameworkContext) -> None:
        """Take over the pods that wait for a permit of ``before``.

        It is the same dict from now on: the tasks in which they wait read that of the framework which placed them.
        """
        self.waiting = before.waiting
