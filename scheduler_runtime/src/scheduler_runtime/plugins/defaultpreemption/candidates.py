"""Candidates for preemption: nodes and the pods that would have to go, their cost, and budgets that protect pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from scheduler_runtime.api import Pod
from scheduler_runtime.state.objects import PodDisruptionBudget
from scheduler_runtime.state.table import Requirements, SelectorError, read_requirements

_OFFSET = 2**31
"""Makes every priority positive, so that few pods of a negative priority have a smaller sum than many of it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node, its victims, the most important first, and the number of them that a budget protects."""

    node: str
    victims: Sequence[Pod]
    violations: int

    @property
    def cost(self) -> tuple[int, int, int, int]:
        """The loss; the smallest is best. In the order of upstream's OrderedScoreFuncs."""
        priorities = [pod.spec.priority for pod in self.victims]
        return self.violations, priorities[0], sum(priorities) + _OFFSET * len(priorities), len(priorities)


class Clock:
    """Start times of pods, for comparing: the time of asking for those that have not started yet."""

    def __init__(self, is_leaving: Callable[[Pod], bool]) -> None:
        self._is_leaving = is_leaving
        # Times in a status are whole seconds; a pod that has not started comes after all that started in this one.
        self._now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") + "~"

    def start_time(self, pod: Pod) -> str:
        """The time at which ``pod`` started, as text that sorts by time."""
        return pod.status.start_time or self._now

    def importance(self, pod: Pod) -> tuple[int, str, bool]:
        """A key for sorting, smallest for the most important pod: by priority, then by how long it has been running.

        As MoreImportantPod in pkg/scheduler/util/utils.go. Of pods that are equal by that, as those of one ReplicaSet
        that started in the same second, one that is leaving anyway is preferred as a victim: upstream takes any.
        """
        return -pod.spec.priority, pod.status.start_time or self._now, self._is_leaving(pod)

    def earliest_start(self, candidate: Candidate) -> str:
        """The start of the first of the most important victims (upstream's GetEarliestPodStartTime)."""
        highest = candidate.victims[0].spec.priority
        return min(self.start_time(pod) for pod in candidate.victims if pod.spec.priority == highest)


def best(candidates: Sequence[Candidate], clock: Clock) -> Candidate:
    """The candidate that costs least; of several, the one whose most important victims started last."""
    costs = [candidate.cost for candidate in candidates]
    least = min(costs)
    cheapest = [candidate for candidate, cost in zip(candidates, costs, strict=True) if cost == least]
    return cheapest[0] if len(cheapest) == 1 else max(cheapest, key=clock.earliest_start)


@dataclass(slots=True)
class _Budget:
    requirements: Requirements
    disrupted: frozenset[str]
    allowed: int

    def covers(self, pod: Pod) -> bool:
        labels = pod.metadata.labels
        if not labels:
            return False  # As upstream, whatever the selector: a pod without labels has no budget.
        # A pod in the status is being evicted already, and the status has counted it.
        return pod.metadata.name not in self.disrupted and self.requirements.hold(labels)


class Budgets:
    """The disruption budgets of a cluster."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget], *, counts_all: bool) -> None:
        """``counts_all``: a pod that one budget protects still counts against its other budgets, as before 1.37."""
        self._counts_all = counts_all
        self._by_namespace: dict[str, list[tuple[Requirements, PodDisruptionBudget]]] = {}
        for budget in budgets:
            try:
                requirements = read_requirements(budget.spec.selector)
            except SelectorError:
                continue  # As upstream: a selector that cannot be read protects nothing.
            if requirements:
                self._by_namespace.setdefault(budget.metadata.namespace, []).append((requirements, budget))

    def __bool__(self) -> bool:
        """True if there are any."""
        return bool(self._by_namespace)

    def protected(self, pods: Sequence[Pod]) -> list[bool]:
        """For each of ``pods``, whether evicting it after those before it is more than a budget allows.

        Upstream: filterPodsWithPDBViolation.
        """
        by_namespace = {
            namespace: [
                _Budget(requirements, frozenset(budget.status.disrupted_pods or ()), budget.status.disruptions_allowed)
                for requirements, budget in self._by_namespace[namespace]
            ]
            for namespace in {pod.metadata.namespace for pod in pods} & self._by_namespace.keys()
        }
        protected = []
        for pod in pods:
            is_protected = False
            for budget in by_namespace.get(pod.metadata.namespace, ()):
                if budget.covers(pod):
                    budget.allowed -= 1
                    is_protected = is_protected or budget.allowed < 0
                    if is_protected and not self._counts_all:
                        break
            protected.append(is_protected)
        return protected
