"""Which pods would have to leave which nodes.

Nodes are tried from a random one on, until there are enough candidates. On each all pods of lower priority are taken
away; if the pod fits then, they are put back as far as it still fits, the most important first and those that a budget
protects before all others. Who cannot come back is a victim.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import Handle, NodesWhatIf, NodeTable, Pod
from scheduler_runtime.plugins.defaultpreemption.candidate import Candidate, Clock
from scheduler_runtime.plugins.defaultpreemption.disruption_budgets import Budgets

logger = logging.getLogger(__name__)

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
AT_ONCE = 64
"""As many nodes are tried together, if no more candidates are missing."""

Rows = NDArray[np.intp]


@dataclass(slots=True)
class VictimSelection:
    """A node on which the pod fits without any pod of lower priority, while these are put back."""

    order: Sequence[Pod]
    """Those that are put back: the protected ones first, and among each kind the most important."""
    protected: int
    victims: list[Pod] = field(default_factory=list)
    violations: int = 0

    def at(self, step: int) -> Sequence[Pod]:
        """The one to put back in a step, if there is one left."""
        return self.order[step : step + 1]

    def settle(self, step: int, *, fits: bool) -> Sequence[Pod]:
        """Note whether the pod fits with the one that was put back in a step; return it if it has to go again."""
        if fits or step >= len(self.order):
            return ()
        self.victims.append(self.order[step])
        self.violations += step < self.protected
        return self.order[step : step + 1]


@dataclass(slots=True)
class Found:
    """The candidates so far."""

    wanted: int
    sound: list[Candidate] = field(default_factory=list)
    violating: list[Candidate] = field(default_factory=list)

    def add(self, candidate: Candidate) -> None:
        """Count one more."""
        (self.violating if candidate.violations else self.sound).append(candidate)

    @property
    def missing(self) -> int:
        """How many more are wanted."""
        return self.wanted - len(self.sound) - min(len(self.violating), self.wanted)

    @property
    def is_enough(self) -> bool:
        """Whether there are as many as are wanted, one without a violation among them."""
        return bool(self.sound) and self.missing <= 0


class DryRun:
    """The search for nodes on which ``pod`` would fit without some pods."""

    def __init__(self, pod: Pod, nodes: NodeTable, handle: Handle, budgets: Budgets, clock: Clock) -> None:
        self._pod = pod
        self._nodes = nodes
        self._handle = handle
        self._budgets = budgets
        self._importance = clock.importance
        self._reasons: Counter[str] = Counter()
        self._refused = 0
        self.errors: list[str] = []
        """What went wrong on nodes that are no candidates for that."""

    def candidates(self, rows: Rows, wanted: int) -> list[Candidate]:
        """The nodes in ``rows`` that come into question, at least one of them without a violation if there is any.

        No more are looked for when there are as many as ``wanted``. Those without a violation come first.
        """
        found, rows = Found(wanted), self._with_victims(rows)
        while len(rows) and not found.is_enough:
            some, rows = np.split(rows, [max(found.missing, AT_ONCE)])
            for candidate in self._tried(some):
                found.add(candidate)
                if found.is_enough:
                    break
        return found.sound + found.violating[:wanted]

    def message(self) -> str:
        """Why no node came into question, worded as upstream words why a pod fits nowhere."""
        total = len(self._nodes)
        reasons = self._reasons + Counter({NOT_HELPFUL: total - self._refused})
        histogram = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        return f"0/{total} nodes are available: {histogram}." if histogram else f"0/{total} nodes are available:"

    def _with_victims(self, rows: Rows) -> Rows:
        """Those of ``rows`` where there is anybody to preempt; of the others that is noted."""
        found = rows[self._nodes.lowest_priorities[rows] < self._pod.spec.priority]
        others = len(rows) - len(found)
        self._reasons[NO_VICTIMS] += others
        self._refused += others
        return found

    def _tried(self, rows: Rows) -> Iterator[Candidate]:
        trials = self._handle.trials(rows)
        sparing = self._together(rows, trials) if trials else map(self._alone, rows.tolist())
        for row, each in zip(rows.tolist(), sparing, strict=True):
            candidate = self._candidate(row, each)
            if candidate:
                yield candidate

    def _candidate(self, row: int, sparing: VictimSelection | None) -> Candidate | None:
        if sparing is None:
            self._refused += 1
            return None
        name = self._nodes.names[row]
        if not sparing.victims:
            self.errors.append(f'expected at least one victim pod on node "{name}"')
            self._refused += 1
            return None
        if 0 < sparing.protected < len(sparing.order):
            sparing.victims.sort(key=self._importance)
        return Candidate(name, sparing.victims, sparing.violations)

    # Many nodes at once, for filters that look at each node by itself.

    def _together(self, rows: Rows, trials: NodesWhatIf) -> Iterable[VictimSelection | None]:
        try:
            with trials:
                found = self._all_spared(rows, trials)
        except Exception:  # a plugin's; it fails again where each node is asked about by itself, and that tells which
            logger.debug("trying nodes together failed", exc_info=True)
            return map(self._alone, rows.tolist())
        self._reasons.update(trials.reasons)
        return found

    def _all_spared(self, rows: Rows, trials: NodesWhatIf) -> list[VictimSelection | None]:
        lower = [self._lower(row) for row in rows.tolist()]
        trials.remove(lower)
        fits = trials.fits().tolist()
        found = [self._sparing(pods) if does else None for pods, does in zip(lower, fits, strict=True)]
        for step in range(max((len(each.order) for each in found if each), default=0)):
            trials.add([each.at(step) if each else () for each in found])
            now = trials.fits().tolist()
            trials.remove([each.settle(step, fits=does) if each else () for each, does in zip(found, now, strict=True)])
        return found

    # One node after the other, where filters look at several nodes.

    def _alone(self, row: int) -> VictimSelection | None:
        try:
            return self._spared(row)
        except Exception as error:  # a plugin's; as upstream: other nodes may do
            logger.exception("trying a node failed", extra={"pod": self._pod.key, "node": self._nodes.names[row]})
            self.errors.append(str(error))
            return None

    def _spared(self, row: int) -> VictimSelection | None:
        lower = self._lower(row)
        with self._handle.trial(row) as trial:
            trial.remove(*lower)
            rejections = trial.rejections()
            if rejections:
                self._reasons.update(reject.reason for reject in rejections)
                return None
            sparing = self._sparing(lower)
            for step, pod in enumerate(sparing.order):
                trial.add(pod)
                trial.remove(*sparing.settle(step, fits=trial.fits()))
        return sparing

    def _lower(self, row: int) -> list[Pod]:
        priority = self._pod.spec.priority
        return [pod for pod in self._nodes.pods(row) if pod.spec.priority < priority]

    def _sparing(self, lower: list[Pod]) -> VictimSelection:
        lower.sort(key=self._importance)
        if not self._budgets:
            return VictimSelection(lower, 0)
        protected = self._budgets.protected(lower)
        first = [pod for pod, is_protected in zip(lower, protected, strict=True) if is_protected]
        return VictimSelection(
            [*first, *(pod for pod, is_ in zip(lower, protected, strict=True) if not is_)], len(first)
        )
