"""One decision: from a pod and the nodes to the node on which the pod is assumed, or to the reasons against all nodes.

    schedule ─► choose ─┬─► from the cache ────┬─► a row ─► assume ─► reserve ─► permit ─► Placed
                        └─► from the plugins ──┴─► no row ─► post_filter ────────────────► Unschedulable

It is synchronous and does no I/O: between reading the table and assuming the pod nothing can change, and the next
decision sees what this one took. Upstream's schedulingCycle in schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter

from scheduler_runtime.api import Pod
from scheduler_runtime.framework.context import FrameworkContext
from scheduler_runtime.framework.decision_state import DecisionState
from scheduler_runtime.framework.extender_contract import (
    ExtenderAnswers,
    FilterQuestion,
    Question,
    ScoreQuestion,
    VictimQuestion,
)
from scheduler_runtime.framework.filtering import run_post_filter_plugins
from scheduler_runtime.framework.hook import Hook
from scheduler_runtime.framework.node_chooser import NodeChooser, NoFeasibleNode
from scheduler_runtime.framework.outcomes import CLEAR_NOMINATION, AssumeCache, Placed, Unschedulable
from scheduler_runtime.framework.plugin_times import PRE_FILTER, DecisionClocks, rejection_status
from scheduler_runtime.framework.reserve_permit import Reservations
from scheduler_runtime.framework.unsupported import FieldOf, message_for, needed_plugins
from scheduler_runtime.state.objects import QuantityError
from scheduler_runtime.state.table import Table

NO_NODES = "no nodes available to schedule pods"
"""Upstream's ErrNoNodesAvailable."""


class Decisions:
    """Makes the decisions of one profile."""

    def __init__(
        self,
        chooser: NodeChooser,
        post_filters: Sequence[Hook],
        reservations: Reservations,
        missing: Mapping[str, FieldOf],
        context: FrameworkContext,
        clocks: DecisionClocks,
    ) -> None:
        """``missing`` are the filters that the profile enables and this build does not have."""
        self._chooser = chooser
        self._post_filters = post_filters
        self._reservations = reservations
        self._missing = missing
        self._context = context
        self._nominations = context.services.nominations
        self._clocks = clocks

    def schedule(
        self, pod: Pod, cluster: AssumeCache, answers: ExtenderAnswers | None
    ) -> Placed | Unschedulable | Question:
        """Decide about ``pod``: see :meth:`Framework.schedule`. When it raises, the pod is not assumed."""
        try:
            with self._context.decision(cluster.table, answers):
                outcome = self._decide(pod, cluster.table, answers)
                if isinstance(outcome, Placed):
                    outcome = self._take_node(outcome, cluster)
        except Exception:
            # As upstream's handleSchedulingFailure: whatever room was made for the pod, the next attempt looks anew.
            self._nominations.clear(pod)
            raise
        finally:
            self._clocks.slow_plugins.end_decision()
        if isinstance(outcome, Unschedulable) and outcome.nomination:
            # From now on, not only when the pod's status says it: the next decision has to leave the pod its room.
            if node := outcome.nomination.node_name:
                self._nominations.nominate(pod, node)
            else:
                self._nominations.clear(pod)
        return outcome

    def _decide(self, pod: Pod, table: Table, answers: ExtenderAnswers | None) -> Placed | Unschedulable | Question:
        """Choose a node, or let plugins make room where there is none. Nothing is assumed here."""
        refusal = self._refuse(pod, len(table))  # before the cache: a pod without readable requests has no key
        if refusal is not None:
            return refusal
        decision = DecisionState(pod, table)
        choice: int | NoFeasibleNode | FilterQuestion | ScoreQuestion
        # All rounds of questions about a pod count as one decision: until it has its answers no other is made.
        self._clocks.timer.start(is_new=answers is None or answers == ExtenderAnswers())
        try:
            if answers is None:
                choice = self._chooser.choose(decision)
            else:
                choice = self._chooser.choose_with_extenders(decision, answers)
        finally:
            self._clocks.timer.is_on = False  # Not for post_filter, which may judge thousands of nodes one by one.
        if isinstance(choice, FilterQuestion | ScoreQuestion):
            return choice
        outcome: Placed | Unschedulable | VictimQuestion
        pre_filter_status = "Success"
        if isinstance(choice, NoFeasibleNode):
            outcome = self._run_post_filters(decision, choice, answers)
            if isinstance(outcome, VictimQuestion):
                return outcome
            if choice.diagnosis.rejection:  # As upstream, only a rejection of the pod as a whole fails this point.
                pre_filter_status = rejection_status(resolvable=not choice.diagnosis.ended_by)
        else:
            outcome = Placed(pod, table.names[choice], decision.states)
        for point, seconds in decision.seconds.items():
            status = pre_filter_status if point == PRE_FILTER else "Success"
            self._clocks.points[point, status].observe(seconds)
        return outcome

    def _refuse(self, pod: Pod, nodes: int) -> Unschedulable | None:
        """Return the outcome for a pod about which the plugins need not be asked, and could not answer."""
        if not nodes:  # Arrays without rows have no maximum.
            return Unschedulable(pod, NO_NODES, frozenset(), CLEAR_NOMINATION)
        needed = needed_plugins(pod, self._missing)
        if needed:
            return Unschedulable(pod, message_for(needed), frozenset(needed))
        try:
            _ = pod.requests
        except QuantityError as error:
            # The events of that plugin wake the pod when its requests change.
            return Unschedulable(pod, f"0/{nodes} nodes are available: {error}.", frozenset({"NodeResourcesFit"}))
        return None

    def _run_post_filters(
        self, decision: DecisionState, choice: NoFeasibleNode, answers: ExtenderAnswers | None
    ) -> Unschedulable | VictimQuestion:
        """Let the plugins make room for a pod that no node takes; return the outcome, with their reasons.

        Raises PluginError.
        """
        # Once only: a plugin that asks again with the answer in its hands would ask for ever.
        may_consult = answers is not None and answers.victims is None
        self._context.open_what_if(self._chooser.what_if(decision))
        began = perf_counter()
        diagnosis, hooks = choice.diagnosis, self._post_filters
        result = run_post_filter_plugins(hooks, decision, choice.nodes, diagnosis.verdicts, may_consult=may_consult)
        if result.consult is not None:
            return VictimQuestion(result.consult.candidates)
        if hooks:
            has_node = result.nomination is not None and result.nomination.node_name != ""
            status = "Success" if has_node else rejection_status(resolvable=True)
            self._clocks.points["PostFilter", status].observe(perf_counter() - began)
        return Unschedulable(
            decision.pod,
            diagnosis.message(result.reasons),
            frozenset(diagnosis.plugins),
            result.nomination,
            frozenset(diagnosis.pending_plugins),
        )

    def _take_node(self, placed: Placed, cluster: AssumeCache) -> Placed | Unschedulable:
        """Assume the pod on its node, and let plugins reserve for it and permit it; or undo all that.

        Assumed first, as upstream: what a plugin reads while it reserves has the pod on its node already.
        """
        # Outside the try: where the cache refuses, the pod is on a node already, and that must not be taken back.
        cluster.assume(placed.pod, placed.node)
        self._nominations.forget(placed.pod.metadata.uid)
        try:
            rejected = self._reservations.run_reserve_plugins(placed)
            outcome = rejected or self._reservations.run_permit_plugins(placed)
        except Exception:  # a plugin's or ours: a pod that stayed assumed would hold its room for ever
            self._undo(placed, cluster)
            raise
        if isinstance(outcome, Unschedulable):
            self._undo(placed, cluster)
        return outcome

    def _undo(self, placed: Placed, cluster: AssumeCache) -> None:
        """Take the pod off its node again, after its plugins have given back what they reserved.

        Unreserve runs for all plugins, as upstream: also for those that reserved before the one that failed.
        """
        try:
            self._reservations.run_unreserve_plugins(placed)
        finally:
            cluster.forget(placed.pod)
