"""Nodes on which a pod would fit once some pods are gone, and which of them is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from scheduler_runtime.api import Pod

_OFFSET = 2**31
"""Makes every priority positive, so that few pods of a negative priority have a smaller sum than many of it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node, the pods that have to go, the most important first, and how many of them a budget protects."""

    node: str
    victims: Sequence[Pod]
    violations: int

    @property
    def cost(self) -> tuple[int, int, int, int]:
        """What is lost; the smallest is best."""
        priorities = [pod.spec.priority for pod in self.victims]
        return self.violations, priorities[0], sum(priorities) + _OFFSET * len(priorities), len(priorities)


class Clock:
    """When pods started, for comparing: the moment of asking for those that have not started yet."""

    def __init__(self) -> None:
        # Times in a status are whole seconds; what has not started comes after all that started in this one.
        self._now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") + "~"

    def started(self, pod: Pod) -> str:
        """When ``pod`` started, as text that sorts by time."""
        return pod.status.start_time or self._now

    def importance(self, pod: Pod) -> tuple[int, str]:
        """The most important pod has the smallest: priority counts first, then how long it has been running."""
        return -pod.spec.priority, pod.status.start_time or self._now

    def earliest(self, candidate: Candidate) -> str:
        """When the first of the most important victims started."""
        highest = candidate.victims[0].spec.priority
        return min(self.started(pod) for pod in candidate.victims if pod.spec.priority == highest)


def best(candidates: Sequence[Candidate], clock: Clock) -> Candidate:
    """The candidate that costs least; of several, the one whose most important victims started last."""
    costs = [candidate.cost for candidate in candidates]
    least = min(costs)
    cheapest = [candidate for candidate, cost in zip(candidates, costs, strict=True) if cost == least]
    return cheapest[0] if len(cheapest) == 1 else max(cheapest, key=clock.earliest)
