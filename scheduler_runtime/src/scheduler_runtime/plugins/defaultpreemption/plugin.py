"""The hooks of preemption."""

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
from scheduler_runtime.plugins.defaultpreemption.candidate import Candidate, Clock, best
from scheduler_runtime.plugins.defaultpreemption.disruption_budgets import Budgets
from scheduler_runtime.plugins.defaultpreemption.dry_run import DryRun
from scheduler_runtime.plugins.defaultpreemption.eligibility import refusal
from scheduler_runtime.plugins.defaultpreemption.eviction import Evictions

Extend = Callable[[Pod, Sequence[Candidate]], Sequence[Candidate]]
"""What is made of the candidates for a pod."""

WAITING = "waiting for the preemption for this pod to be finished"


class DefaultPreemption(Plugin):
    """Make room for a pod that fits nowhere by evicting pods of lower priority from the node where that costs least."""

    declaration = in_tree()["DefaultPreemption"]

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        version = Version.parse(handle.version)
        self.extend: Extend = lambda _, candidates: candidates
        """What is to be made of the candidates before extenders are asked about them."""
        self._watch = self.declaration.watches_for(args)[0]
        self._budgets: tuple[int, Budgets] | None = None
        self._counts_all_budgets = not version.at_least("1.37")
        self._tells_success = version.at_least("1.37")
        self._is_async = handle.enabled("SchedulerAsyncPreemption")
        self._evictions = Evictions(handle, self.declaration.name)

    def pre_enqueue(self, pod: Pod) -> Reject | None:
        return Reject.pod(WAITING) if self._evictions.holds(pod) else None

    def post_filter(
        self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle
    ) -> Nomination | Reject | Consult | Iterable[str] | None:
        if self.handle.consulted is None:
            self.handle.preemptions.count_attempt()
        why_not = refusal(pod, nodes, verdicts, self.handle)
        if why_not:
            return (f"preemption: {why_not}",)
        clock = Clock()
        if self.handle.consulted is not None:
            return self._after_extenders(pod, nodes, self.handle.consulted, clock)
        dry_run = DryRun(pod, nodes, self.handle, self._current_budgets(), clock)
        rows, wanted = self._rows(verdicts)
        candidates = dry_run.candidates(rows, wanted)
        if not candidates and dry_run.errors:
            return (f"preemption: {_all_of(dry_run.errors)}",)
        if not candidates:
            return Nomination(CLEAR, reasons=(f"preemption: {dry_run.message()}",))
        extended = self.extend(pod, candidates)
        if extended and self.handle.consults(pod):
            return Consult([Victims(each.node, each.victims, each.violations) for each in extended])
        return self._nominate_best(pod, extended, clock)

    def _after_extenders(self, pod: Pod, nodes: NodeTable, said: Consulted, clock: Clock) -> Nomination | Iterable[str]:
        """Go by what extenders said, about nodes and pods that are still there."""
        if said.problem:
            return (f"preemption: {said.problem}",)
        there = [each for each in said.candidates if nodes.row(each.node) is not None]
        candidates = [Candidate(each.node, each.pods, each.violations) for each in there if each.pods]
        return self._nominate_best(pod, candidates, clock)

    def _nominate_best(self, pod: Pod, candidates: Sequence[Candidate], clock: Clock) -> Nomination | Iterable[str]:
        if not candidates:
            return ("preemption: no candidate node for preemption",)
        return self._nominate(pod, best(candidates, clock))

    def hint(self, event: Event, pod: Pod) -> Answer:
        # Registered so that such events are looked at while pre_enqueue holds a pod; whether they help it is
        # for the plugins to say that rejected it.
        return SKIP

    def _current_budgets(self) -> Budgets:
        """The budgets, read again when some of them changed."""
        revision = self.handle.revision(self._watch)
        if self._budgets is None or self._budgets[0] != revision:
            found = Budgets(self.handle.list(self._watch), counts_all=self._counts_all_budgets)
            self._budgets = revision, found
        return self._budgets[1]

    def _rows(self, verdicts: Verdicts) -> tuple[NDArray[np.intp], int]:
        """The rows where evicting may help, from a random one on, and how many candidates among them are enough."""
        rows = np.flatnonzero(~verdicts.unresolvable)
        if not len(rows):
            return rows, 0
        args = self.args
        wanted = max(len(rows) * args.min_candidate_nodes_percentage // 100, args.min_candidate_nodes_absolute)
        first = self.handle.random.randrange(len(rows))
        return np.roll(rows, -first), min(wanted, len(rows))

    def _nominate(self, pod: Pod, chosen: Candidate) -> Nomination:
        self.handle.preemptions.count_victims(len(chosen.victims))
        reasons = (
            (
                f"preemption: found a potential placement for pod on node {chosen.node},"
                f" preempting {len(chosen.victims)} victims",
            )
            if self._tells_success
            else ()
        )
        work = self._evictions.begin(pod, chosen)
        return Nomination(chosen.node, work, reasons, at_once=not self._is_async)


def _all_of(errors: Sequence[str]) -> str:
    """Several errors as upstream prints them."""
    different = list(dict.fromkeys(errors))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]"
