"""Dry run of preemption: the pods that would have to leave each node.

Nodes are tried from a random one on, until there are enough candidates. On each all pods of lower priority are removed;
if the pod fits then, they are put back as far as it still fits, the most important first and those that a budget
protects before all others. A pod that cannot be put back is a victim. Upstream: SelectVictimsOnNode.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import Handle, NodesWhatIf, NodeTable, Pod
from scheduler_runtime.plugins.defaultpreemption.candidates import Budgets, Candidate, Clock

logger = logging.getLogger(__name__)

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
AT_ONCE = 64
"""As many nodes are tried together, unless more candidates are missing."""

Rows = NDArray[np.intp]


@dataclass(slots=True)
class VictimSelection:
    """The search for victims on a node where the pod fits once all pods of lower priority are removed.

    The pods are put back one by one, one per step.
    """

    order: Sequence[Pod]
    """The pods to put back: the protected ones first, and among each kind the most important."""
    protected: int
    victims: list[Pod] = field(default_factory=list)
    violations: int = 0

    def at(self, step: int) -> Sequence[Pod]:
        """The pod to put back in a step, if any is left."""
        return self.order[step : step + 1]

    def settle(self, step: int, *, fits: bool) -> Sequence[Pod]:
        """Record whether the preemptor fits with the pod that was put back in a step; return the pod if it must go."""
        if fits or step >= len(self.order):
            return ()
        self.victims.append(self.order[step])
        self.violations += step < self.protected
        return self.order[step : step + 1]


class DryRun:
    """The search for nodes on which ``pod`` would fit without some pods."""

    def __init__(self, pod: Pod, nodes: NodeTable, handle: Handle, budgets: Budgets, clock: Clock) -> None:
        self._pod = pod
        self._nodes = nodes
        self._handle = handle
        self._budgets = budgets
        self._importance = clock.importance
        self._reasons: Counter[str] = Counter()
        self._rejected = 0
        self.errors: list[str] = []
        """Errors on nodes, which are no candidates for that reason."""

    def candidates(self, rows: Rows, limit: int) -> list[Candidate]:
        """The candidates among ``rows``, at least one of them without a violation if there is any.

        The search ends with ``limit`` candidates of which one has no violation. Those without a violation come first.
        """
        # Where no pod has a lower priority there is nobody to preempt.
        with_victims = rows[self._nodes.lowest_priorities[rows] < self._pod.spec.priority]
        others = len(rows) - len(with_victims)
        self._reasons[NO_VICTIMS] += others
        self._rejected += others
        rows = with_victims
        sound: list[Candidate] = []
        violating: list[Candidate] = []
        while len(rows):
            missing = limit - len(sound) - min(len(violating), limit)
            some, rows = np.split(rows, [max(missing, AT_ONCE)])
            trials = self._handle.trials(some)
            selections = self._try_together(some, trials) if trials else map(self._try_node, some.tolist())
            for row, selection in zip(some.tolist(), selections, strict=True):
                candidate = self._candidate(row, selection)
                if candidate:
                    (violating if candidate.violations else sound).append(candidate)
                    if sound and len(sound) + min(len(violating), limit) >= limit:
                        return sound + violating[:limit]
        return sound + violating[:limit]

    def message(self) -> str:
        """The reasons why no node is a candidate, worded as upstream words why a pod fits nowhere."""
        total = len(self._nodes)
        reasons = self._reasons + Counter({NOT_HELPFUL: total - self._rejected})
        histogram = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        return f"0/{total} nodes are available: {histogram}." if histogram else f"0/{total} nodes are available:"

    def _candidate(self, row: int, selection: VictimSelection | None) -> Candidate | None:
        if selection is None:
            self._rejected += 1
            return None
        name = self._nodes.names[row]
        if not selection.victims:
            self.errors.append(f'expected at least one victim pod on node "{name}"')
            self._rejected += 1
            return None
        if 0 < selection.protected < len(selection.order):
            selection.victims.sort(key=self._importance)
        return Candidate(name, selection.victims, selection.violations)

    # Many nodes at once, when every filter looks at each node by itself.

    def _try_together(self, rows: Rows, trials: NodesWhatIf) -> Iterable[VictimSelection | None]:
        try:
            with trials:
                lower = [self._pods_of_lower_priority(row) for row in rows.tolist()]
                trials.remove(lower)
                fits = trials.fits().tolist()
                selections = [
                    self._begin_selection(pods) if does_fit else None
                    for pods, does_fit in zip(lower, fits, strict=True)
                ]
                for step in range(max((len(selection.order) for selection in selections if selection), default=0)):
                    trials.add([selection.at(step) if selection else () for selection in selections])
                    fits = trials.fits().tolist()
                    trials.remove(
                        [
                            selection.settle(step, fits=does_fit) if selection else ()
                            for selection, does_fit in zip(selections, fits, strict=True)
                        ]
                    )
        except Exception:  # a plugin's error; it occurs again where each node is tried alone, with the node's name
            logger.debug("trying nodes together failed", exc_info=True)
            return map(self._try_node, rows.tolist())
        self._reasons.update(trials.reasons)
        return selections

    # One node after the other, when filters look at several nodes.

    def _try_node(self, row: int) -> VictimSelection | None:
        try:
            lower = self._pods_of_lower_priority(row)
            with self._handle.trial(row) as trial:
                trial.remove(*lower)
                rejections = trial.rejections()
                if rejections:
                    self._reasons.update(reject.reason for reject in rejections)
                    return None
                selection = self._begin_selection(lower)
                for step, pod in enumerate(selection.order):
                    trial.add(pod)
                    trial.remove(*selection.settle(step, fits=trial.fits()))
            return selection
        except Exception as error:  # a plugin's error; as upstream: other nodes may do
            logger.exception("trying a node failed", extra={"pod": self._pod.key, "node": self._nodes.names[row]})
            self.errors.append(str(error))
            return None

    def _pods_of_lower_priority(self, row: int) -> list[Pod]:
        priority = self._pod.spec.priority
        return [pod for pod in self._nodes.pods(row) if pod.spec.priority < priority]

    def _begin_selection(self, lower: list[Pod]) -> VictimSelection:
        lower.sort(key=self._importance)
        if not self._budgets:
            return VictimSelection(lower, 0)
        protected = self._budgets.protected(lower)
        first = [pod for pod, is_protected in zip(lower, protected, strict=True) if is_protected]
        others = [pod for pod, is_protected in zip(lower, protected, strict=True) if not is_protected]
        return VictimSelection([*first, *others], len(first))
