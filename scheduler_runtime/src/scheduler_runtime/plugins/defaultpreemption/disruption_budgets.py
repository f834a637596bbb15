"""Which pods disruption budgets protect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduler_runtime.api import Pod
from scheduler_runtime.state.objects import PodDisruptionBudget
from scheduler_runtime.state.table import Requirements, SelectorError, hold, requirements_of


@dataclass(slots=True)
class _Budget:
    requirements: Requirements
    disrupted: frozenset[str]
    left: int

    def covers(self, pod: Pod, labels: dict[str, str]) -> bool:
        # A pod in the status is on its way out already, and was counted when it was let go.
        return pod.name not in self.disrupted and hold(self.requirements, labels)


class Budgets:
    """The disruption budgets of a cluster."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget], *, counts_all: bool) -> None:
        """``counts_all``: a pod that one budget protects still counts against its other budgets, as before 1.37."""
        self._counts_all = counts_all
        self._by_namespace: dict[str, list[tuple[Requirements, PodDisruptionBudget]]] = {}
        for budget in budgets:
            requirements = _requirements(budget)
            if requirements:
                self._by_namespace.setdefault(budget.metadata.namespace, []).append((requirements, budget))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._by_namespace)

    def protected(self, pods: Sequence[Pod]) -> list[bool]:
        """For each of ``pods``, whether evicting it after those before it takes more than a budget allows."""
        left = {
            namespace: [
                _Budget(requirements, frozenset(budget.status.disrupted_pods or ()), budget.status.disruptions_allowed)
                for requirements, budget in self._by_namespace[namespace]
            ]
            for namespace in {pod.namespace for pod in pods} & self._by_namespace.keys()
        }
        return [self._is_protected(pod, left.get(pod.namespace, ())) for pod in pods]

    def _is_protected(self, pod: Pod, budgets: Iterable[_Budget]) -> bool:
        labels = pod.metadata.labels
        if not labels:
            return False
        is_protected = False
        for budget in budgets:
            if budget.covers(pod, labels):
                budget.left -= 1
                is_protected = is_protected or budget.left < 0
                if is_protected and not self._counts_all:
                    return True
        return is_protected


def _requirements(budget: PodDisruptionBudget) -> Requirements | None:
    """What a budget's pods have in common; nothing for a budget without a selector that can be read."""
    try:
        return requirements_of(budget.spec.selector)
    except SelectorError:
        return None  # As upstream: what cannot be read protects nothing.
