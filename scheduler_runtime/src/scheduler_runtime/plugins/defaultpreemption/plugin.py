"""DefaultPreemption's hooks: the pods that may preempt others, and the choice of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import (
    CLEAR,
    SKIP,
    Answer,
    Consult,
    Consulted,
    Cycle,
    Event,
    Handle,
    NodeTable,
    Nomination,
    Plugin,
    Pod,
    Reject,
    Verdicts,
    Victims,
)
from scheduler_runtime.catalog import Version, in_tree
from scheduler_runtime.catalog.args import DefaultPreemptionArgs
from scheduler_runtime.plugins.defaultpreemption.candidates import Budgets, Candidate, Clock, best
from scheduler_runtime.plugins.defaultpreemption.dry_run import DryRun
from scheduler_runtime.plugins.defaultpreemption.eviction import Evictions

Extend = Callable[[Pod, Sequence[Candidate]], Sequence[Candidate]]
"""A change of the candidates for a pod."""

WAITING = "waiting for the preemption for this pod to be finished"


class DefaultPreemption(Plugin):
    """Make room for a pod that fits nowhere by evicting pods of lower priority from the node where that costs least."""

    declaration = in_tree()["DefaultPreemption"]

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        version = Version.parse(handle.version)
        self.extend: Extend = lambda _, candidates: candidates
        """A change of the candidates before extenders are asked about them."""
        self._watch = self.declaration.watches_for(args)[0]
        self._budgets: tuple[int, Budgets] | None = None
        self._counts_all_budgets = not version.at_least("1.37")
        self._reports_success = version.at_least("1.37")
        self._is_async = handle.enabled("SchedulerAsyncPreemption")
        self._evictions = Evictions(handle, self.declaration.name)

    def pre_enqueue(self, pod: Pod) -> Reject | None:
        is_preemptor = pod.metadata.uid in self._evictions.last_victims
        return Reject.pod(WAITING) if is_preemptor and self._evictions.is_evicting_for(pod) else None

    def post_filter(
        self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle
    ) -> Nomination | Reject | Consult | Iterable[str] | None:
        consulted = self.handle.consulted
        if consulted is None:
            self.handle.preemptions.count_attempt()
        refusal = refusal_of(pod, nodes, verdicts, self.handle)
        if refusal:
            return (f"preemption: {refusal}",)
        clock = Clock(self.handle.is_leaving)
        if consulted is not None:
            return self._choose_after_extenders(pod, nodes, consulted, clock)
        dry_run = DryRun(pod, nodes, self.handle, self._current_budgets(), clock)
        rows, limit = self._rows(verdicts)
        candidates = dry_run.candidates(rows, limit)
        if not candidates and dry_run.errors:
            errors = list(dict.fromkeys(dry_run.errors))
            # Several errors are printed as upstream's aggregate prints them.
            text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            return (f"preemption: {text}",)
        if not candidates:
            # A nomination of an earlier attempt is of no use any more.
            return Nomination(CLEAR, reasons=(f"preemption: {dry_run.message()}",))
        extended = self.extend(pod, candidates)
        if extended and self.handle.consults(pod):
            return Consult([Victims(one.node, one.victims, one.violations) for one in extended])
        return self._nominate_best(pod, extended, clock)

    def _choose_after_extenders(
        self, pod: Pod, nodes: NodeTable, consulted: Consulted, clock: Clock
    ) -> Nomination | Iterable[str]:
        """Choose among the extenders' candidates, as far as their nodes still exist."""
        if consulted.problem:
            return (f"preemption: {consulted.problem}",)
        present = [one for one in consulted.candidates if nodes.row(one.node) is not None]
        candidates = [Candidate(one.node, one.pods, one.violations) for one in present if one.pods]
        return self._nominate_best(pod, candidates, clock)

    def _nominate_best(self, pod: Pod, candidates: Sequence[Candidate], clock: Clock) -> Nomination | Iterable[str]:
        if not candidates:
            return ("preemption: no candidate node for preemption",)
        candidate = best(candidates, clock)
        victims = len(candidate.victims)
        # Upstream counts victims again for each preemptor that needs their room.
        if new := sum(not self.handle.is_leaving(victim) for victim in candidate.victims):
            self.handle.preemptions.count_victims(new)
        reasons: tuple[str, ...] = ()
        if self._reports_success:
            placement = f"found a potential placement for pod on node {candidate.node}"
            reasons = (f"preemption: {placement}, preempting {victims} victims",)
        work = self._evictions.start(pod, candidate)
        return Nomination(candidate.node, work, reasons, at_once=not self._is_async)

    def hint(self, event: Event, pod: Pod) -> Answer:
        # Registered so that such events are looked at while pre_enqueue holds a pod; whether they help it is
        # for the plugins to say that rejected it.
        return SKIP

    def _current_budgets(self) -> Budgets:
        """The budgets, read again when some of them changed."""
        revision = self.handle.revision(self._watch)
        if self._budgets is None or self._budgets[0] != revision:
            budgets = Budgets(self.handle.list(self._watch), counts_all=self._counts_all_budgets)
            self._budgets = revision, budgets
        return self._budgets[1]

    def _rows(self, verdicts: Verdicts) -> tuple[NDArray[np.intp], int]:
        """The rows where evicting may help, from a random one on, and how many candidates among them are enough.

        Upstream: GetOffsetAndNumCandidates.
        """
        rows = np.flatnonzero(~verdicts.unresolvable)
        if not len(rows):
            return rows, 0
        args = self.args
        limit = max(len(rows) * args.min_candidate_nodes_percentage // 100, args.min_candidate_nodes_absolute)
        first = self.handle.random.randrange(len(rows))
        return np.roll(rows, -first), min(limit, len(rows))


def refusal_of(pod: Pod, nodes: NodeTable, verdicts: Verdicts, handle: Handle) -> str:
    """The reason why ``pod`` may not preempt others now; empty when it may. Upstream: PodEligibleToPreemptOthers."""
    if pod.spec.preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    nominated = handle.nominated_node(pod)
    row = nodes.row(nominated) if nominated else None
    if row is None or verdicts.unresolvable[row]:
        return ""  # It has no nominated node, or one on which evictions do not help any more.
    if any(other.spec.priority < pod.spec.priority and is_being_preempted(other, handle) for other in nodes.pods(row)):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


def is_being_preempted(pod: Pod, handle: Handle) -> bool:
    """True if ``pod`` is being deleted because a scheduler preempted it, or leaves though no watch has shown that yet.

    Upstream sees only what a watch has shown; there a preemptor that is tried again before evicts elsewhere.
    """
    if pod.metadata.deletion_timestamp is None:
        return handle.is_leaving(pod)
    conditions = (condition for condition in pod.status.conditions if condition.type == "DisruptionTarget")
    target = next(conditions, None)
    return target is not None and (target.status, target.reason) == ("True", "PreemptionByScheduler")
