"""One decision of a profile: the node for a pod, or what is said and done about a pod that fits nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from scheduler_runtime.api import Pod
from scheduler_runtime.framework.choosing_node import DecisionState, NoFeasibleNode
from scheduler_runtime.framework.extender_contract import (
    ExtenderAnswers,
    FilterQuestion,
    Question,
    ScoreQuestion,
    VictimQuestion,
)
from scheduler_runtime.framework.hook_table import HookTable
from scheduler_runtime.framework.outcomes import CLEAR_NOMINATION, Placed, Unschedulable
from scheduler_runtime.framework.plugin_handle import FrameworkContext
from scheduler_runtime.framework.point_metrics import PRE_FILTER, SAMPLED_EVERY, Times, rejection_status
from scheduler_runtime.framework.post_filter import PostFilterResult, run_post_filters
from scheduler_runtime.framework.sampling import Sampler
from scheduler_runtime.framework.unsupported import explain, needed_but_missing
from scheduler_runtime.framework.with_extenders import ExtendedChooser
from scheduler_runtime.state.objects import QuantityError
from scheduler_runtime.state.table import Table

NO_NODES = "no nodes available to schedule pods"


class Decisions:
    """Decides by the plugins of one profile, up to the choice of a node. Nothing is assumed here."""

    def __init__(
        self, enabled: HookTable, context: FrameworkContext, times: Times, missing: Mapping[str, Any], percentage: int
    ) -> None:
        """``missing`` are the filters that the profile enables and this build has not.

        ``percentage`` is how many of the nodes are to be scored; 0 for all.
        """
        services = context.services
        self.hooks = enabled.choosing()
        self.answer_cache = context.classes = enabled.classes(self.hooks)
        weighs = bool(self.hooks.score) or (context.extenders is not None and context.extenders.weigh_nodes)
        sampler = Sampler(percentage, services.search_position, weighs=weighs) if 0 < percentage < 100 else None
        self.decider = enabled.decider(self.hooks, self.answer_cache, services.nominations, context.random, sampler)
        self._timed = self.decider.timed(services.metrics)
        self._advised, self._timed_advised = ExtendedChooser(self.decider), ExtendedChooser(self._timed)
        self._watched = enabled.watched_by_kept()
        self._post_filter = enabled.post_filters(context.target.version)
        self._context = context
        self._times = times
        self._missing = missing
        self._count = 0

    def invalidate_for(self, resource: str) -> None:
        """Objects of ``resource`` changed: forget what plugins that watch them said."""
        if resource in self._watched:
            self.answer_cache.forget()

    def decide(self, pod: Pod, table: Table) -> Placed | Unschedulable:
        """Where ``pod`` is to go, or why it fits nowhere and what is done about that. Raises PluginError."""
        unfit = self._unfit(pod, len(table))
        if unfit is not None:
            return unfit
        attempt = DecisionState(pod, table)
        self._count += 1
        row = (self._timed if self._is_sampled else self.decider).choose(attempt)
        self._note(attempt, row)
        if isinstance(row, NoFeasibleNode):
            return self._unschedulable(attempt, row, self._helped(attempt, row))
        return Placed(pod, table.names[row], attempt.states)

    def decide_with(self, advice: ExtenderAnswers, pod: Pod, table: Table) -> Placed | Unschedulable | Question:
        """As ``decide`` where extenders have a say, or what has to be asked first. Raises PluginError."""
        unfit = self._unfit(pod, len(table))
        if unfit is not None:
            return unfit
        attempt = DecisionState(pod, table)
        self._count += advice == ExtenderAnswers()  # until it has all advice, nothing else is decided
        row = (self._timed_advised if self._is_sampled else self._advised).choose(attempt, advice)
        if isinstance(row, FilterQuestion | ScoreQuestion):
            return row
        if not isinstance(row, NoFeasibleNode):
            self._note(attempt, row)
            return Placed(pod, table.names[row], attempt.states)
        helped = self._helped(attempt, row)
        if helped.consult is not None:
            return VictimQuestion(helped.consult.candidates)
        self._note(attempt, row)
        return self._unschedulable(attempt, row, helped)

    @property
    def _is_sampled(self) -> bool:
        """Whether single plugins are timed in this decision."""
        return self._count % SAMPLED_EVERY == 0

    def _note(self, attempt: DecisionState, row: int | NoFeasibleNode) -> None:
        for point, seconds in attempt.seconds.items():
            self._times.note(point, seconds, _outcome(point, row))

    def _unfit(self, pod: Pod, size: int) -> Unschedulable | None:
        """Pods about which the plugins need not be asked, and could not answer."""
        if not size:
            return Unschedulable(pod, NO_NODES, frozenset(), CLEAR_NOMINATION)
        missing = needed_but_missing(pod, self._missing)
        if missing:
            return Unschedulable(pod, explain(missing), frozenset(missing))
        try:
            _ = pod.requests
        except QuantityError as error:
            return Unschedulable(pod, f"0/{size} nodes are available: {error}.", frozenset({"NodeResourcesFit"}))
        return None

    def _helped(self, attempt: DecisionState, nowhere: NoFeasibleNode) -> PostFilterResult:
        """Ask the plugins what would help a pod that no node takes."""
        verdicts = nowhere.diagnosis.verdicts
        advice = self._context.advice
        may_consult = advice is not None and advice.victims is None
        self._context.trials = self.decider.trials(attempt)
        began = perf_counter()
        try:
            helped = run_post_filters(
                self._post_filter, attempt.pod, nowhere.nodes, verdicts, attempt.cycle, may_consult=may_consult
            )
        finally:
            self._context.trials = None
        if self._post_filter and helped.consult is None:
            has_node = helped.nomination is not None and isinstance(helped.nomination.node, str)
            self._times.since("PostFilter", began, "Success" if has_node else rejection_status(resolvable=True))
        return helped

    def _unschedulable(
        self, attempt: DecisionState, nowhere: NoFeasibleNode, helped: PostFilterResult
    ) -> Unschedulable:
        message = nowhere.diagnosis.message(helped.reasons)
        pending = frozenset(nowhere.diagnosis.waits_for)
        return Unschedulable(attempt.pod, message, frozenset(nowhere.diagnosis.plugins), helped.nomination, pending)


def _outcome(point: str, row: int | NoFeasibleNode) -> str:
    """The status of a point before the choice: only what rejects the pod as a whole fails, as upstream has it."""
    if point == PRE_FILTER and isinstance(row, NoFeasibleNode) and row.diagnosis.rejection:
        return rejection_status(resolvable=not row.diagnosis.outright)
    return "Success"
