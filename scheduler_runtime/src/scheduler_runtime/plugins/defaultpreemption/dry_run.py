"""Which pods would have to leave which nodes.

Nodes are tried one after the other from a random one on, until there are enough candidates. On each all pods of lower
priority are taken away; if the pod fits then, they are put back as far as it still fits, the most important first and
those that a budget protects before all others. Who cannot come back is a victim.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...api import Handle, NodeTable, Pod, Trial
from .budgets import Budgets
from .candidate import Candidate, Clock

logger = logging.getLogger(__name__)

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"


class DryRun:
    """The search for nodes on which ``pod`` would fit without some pods."""

    def __init__(self, pod: Pod, nodes: NodeTable, handle: Handle, budgets: Budgets, clock: Clock) -> None:
        self._pod = pod
        self._nodes = nodes
        self._handle = handle
        self._budgets = budgets
        self._importance = clock.importance
        self._reasons: Counter[str] = Counter()
        self._tried = 0
        self.errors: list[str] = []
        """What went wrong on nodes that are no candidates for that."""

    def candidates(self, rows: NDArray[np.intp], wanted: int) -> list[Candidate]:
        """The nodes in ``rows`` that come into question, at least one of them without a violation if there is any.

        No more are looked for when there are as many as ``wanted``. Those without a violation come first.
        """
        sound: list[Candidate] = []
        violating: list[Candidate] = []
        for row in self._with_victims(rows):
            candidate = self._tried_on(row)
            if candidate is None:
                continue
            (violating if candidate.violations else sound).append(candidate)
            if sound and len(sound) + min(len(violating), wanted) >= wanted:
                break
        return sound + violating[:wanted]

    def message(self) -> str:
        """Why no node came into question, worded as upstream words why a pod fits nowhere."""
        total = len(self._nodes)
        reasons = self._reasons + Counter({NOT_HELPFUL: total - self._tried})
        histogram = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        return f"0/{total} nodes are available: {histogram}." if histogram else f"0/{total} nodes are available:"

    def _with_victims(self, rows: NDArray[np.intp]) -> list[int]:
        """Those of ``rows`` where there is anybody to preempt; of the others that is noted."""
        found: list[int] = rows[self._nodes.lowest_priorities[rows] < self._pod.spec.priority].tolist()
        others = len(rows) - len(found)
        self._reasons[NO_VICTIMS] += others
        self._tried += others
        return found

    def _tried_on(self, row: int) -> Candidate | None:
        try:
            return self._try(row)
        except Exception as error:  # a plugin's; as upstream: other nodes may do
            logger.exception("trying a node failed", extra={"pod": self._pod.key, "node": self._nodes.names[row]})
            self.errors.append(str(error))
            self._tried += 1
            return None

    def _try(self, row: int) -> Candidate | None:
        priority = self._pod.spec.priority
        lower = [pod for pod in self._nodes.pods(row) if pod.spec.priority < priority]
        with self._handle.trial(row) as trial:
            trial.remove(*lower)
            rejections = trial.rejections()
            if rejections:
                self._refused(reject.reason for reject in rejections)
                return None
            victims, violations = self._spare(lower, trial)
        if not victims:
            raise ValueError(f'expected at least one victim pod on node "{self._nodes.names[row]}"')
        return Candidate(self._nodes.names[row], victims, violations)

    def _spare(self, lower: list[Pod], trial: Trial) -> tuple[Sequence[Pod], int]:
        """Put back whom the pod leaves room for; return who stays away, and how many of them a budget protects."""
        lower.sort(key=self._importance)
        protected = self._budgets.protected(lower)
        order = [pod for pod, is_protected in zip(lower, protected, strict=True) if is_protected]
        violations = len(order)
        order += [pod for pod, is_protected in zip(lower, protected, strict=True) if not is_protected]
        victims: list[Pod] = []
        spared = 0
        for index, pod in enumerate(order):
            trial.add(pod)
            if trial.fits():
                spared += index < violations
                continue
            trial.remove(pod)
            victims.append(pod)
        if 0 < violations < len(order):
            victims.sort(key=self._importance)
        return victims, violations - spared

    def _refused(self, reasons: Iterable[str]) -> None:
        self._reasons.update(reasons)
        self._tried += 1
