"""One decision of a profile: the node for a pod, or what is said and done about a pod that fits nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from scheduler_runtime.api import Pod
from scheduler_runtime.framework.choosing_node import Attempt, Nowhere
from scheduler_runtime.framework.extender_contract import Advice, Asks, AsksFilter, AsksScores, AsksVictims
from scheduler_runtime.framework.hook_table import Enabled
from scheduler_runtime.framework.outcomes import TAKEN_BACK, Placed, Unschedulable
from scheduler_runtime.framework.plugin_handle import Surroundings
from scheduler_runtime.framework.point_metrics import PRE_FILTER, SAMPLED_EVERY, Times, rejection_status
from scheduler_runtime.framework.post_filter import Help, ask_for_help
from scheduler_runtime.framework.sampling import Sampler
from scheduler_runtime.framework.unsupported import explain, needed_but_missing
from scheduler_runtime.framework.with_extenders import Advised
from scheduler_runtime.state.objects import QuantityError
from scheduler_runtime.state.table import Table

NO_NODES = "no nodes available to schedule pods"


class Decisions:
    """Decides by the plugins of one profile, up to the choice of a node. Nothing is assumed here."""

    def __init__(
        self, enabled: Enabled, around: Surroundings, times: Times, missing: Mapping[str, Any], percentage: int
    ) -> None:
        """``missing`` are the filters that the profile enables and this build has not.

        ``percentage`` is how many of the nodes are to be scored; 0 for all.
        """
        services = around.services
        self.hooks = enabled.choosing()
        self.classes = around.classes = enabled.classes(self.hooks)
        weighs = bool(self.hooks.score) or (around.extenders is not None and around.extenders.weigh_nodes)
        sampler = Sampler(percentage, services.rotation, weighs=weighs) if 0 < percentage < 100 else None
        self.decider = enabled.decider(self.hooks, self.classes, services.nominations, around.random, sampler)
        self._timed = self.decider.timed(services.measures)
        self._advised, self._timed_advised = Advised(self.decider), Advised(self._timed)
        self._watched = enabled.watched_by_kept()
        self._post_filter = enabled.post_filters(around.target.version)
        self._around = around
        self._times = times
        self._missing = missing
        self._count = 0

    def changed(self, resource: str) -> None:
        """Objects of ``resource`` changed: forget what plugins that watch them said."""
        if resource in self._watched:
            self.classes.forget()

    def decide(self, pod: Pod, table: Table) -> Placed | Unschedulable:
        """Where ``pod`` is to go, or why it fits nowhere and what is done about that. Raises PluginError."""
        unfit = self._unfit(pod, len(table))
        if unfit is not None:
            return unfit
        attempt = Attempt(pod, table)
        self._count += 1
        row = (self._timed if self._is_sampled else self.decider).choose(attempt)
        self._note(attempt, row)
        if isinstance(row, Nowhere):
            return self._unschedulable(attempt, row, self._helped(attempt, row))
        return Placed(pod, table.names[row], attempt.states)

    def decide_with(self, advice: Advice, pod: Pod, table: Table) -> Placed | Unschedulable | Asks:
        """As ``decide`` where extenders have a say, or what has to be asked first. Raises PluginError."""
        unfit = self._unfit(pod, len(table))
        if unfit is not None:
            return unfit
        attempt = Attempt(pod, table)
        self._count += advice == Advice()  # until it has all advice, nothing else is decided
        row = (self._timed_advised if self._is_sampled else self._advised).choose(attempt, advice)
        if isinstance(row, AsksFilter | AsksScores):
            return row
        if not isinstance(row, Nowhere):
            self._note(attempt, row)
            return Placed(pod, table.names[row], attempt.states)
        helped = self._helped(attempt, row)
        if helped.consult is not None:
            return AsksVictims(helped.consult.candidates)
        self._note(attempt, row)
        return self._unschedulable(attempt, row, helped)

    @property
    def _is_sampled(self) -> bool:
        """Whether single plugins are timed in this decision."""
        return self._count % SAMPLED_EVERY == 0

    def _note(self, attempt: Attempt, row: int | Nowhere) -> None:
        for point, seconds in attempt.seconds.items():
            self._times.note(point, seconds, _outcome(point, row))

    def _unfit(self, pod: Pod, size: int) -> Unschedulable | None:
        """Pods about which the plugins need not be asked, and could not answer."""
        if not size:
            return Unschedulable(pod, NO_NODES, frozenset(), TAKEN_BACK)
        missing = needed_but_missing(pod, self._missing)
        if missing:
            return Unschedulable(pod, explain(missing), frozenset(missing))
        try:
            _ = pod.requests
        except QuantityError as error:
            return Unschedulable(pod, f"0/{size} nodes are available: {error}.", frozenset({"NodeResourcesFit"}))
        return None

    def _helped(self, attempt: Attempt, nowhere: Nowhere) -> Help:
        """Ask the plugins what would help a pod that no node takes."""
        verdicts = nowhere.diagnosis.verdicts
        advice = self._around.advice
        may_consult = advice is not None and advice.victims is None
        self._around.trials = self.decider.trials(attempt)
        began = perf_counter()
        try:
            helped = ask_for_help(
                self._post_filter, attempt.pod, nowhere.nodes, verdicts, attempt.cycle, may_consult=may_consult
            )
        finally:
            self._around.trials = None
        if self._post_filter and helped.consult is None:
            has_node = helped.nomination is not None and isinstance(helped.nomination.node, str)
            self._times.since("PostFilter", began, "Success" if has_node else rejection_status(resolvable=True))
        return helped

    def _unschedulable(self, attempt: Attempt, nowhere: Nowhere, helped: Help) -> Unschedulable:
        message = nowhere.diagnosis.message(helped.reasons)
        waits_for = frozenset(nowhere.diagnosis.waits_for)
        return Unschedulable(attempt.pod, message, frozenset(nowhere.diagnosis.plugins), helped.nomination, waits_for)


def _outcome(point: str, row: int | Nowhere) -> str:
    """The status of a point before the choice: only what rejects the pod as a whole fails, as upstream has it."""
    if point == PRE_FILTER and isinstance(row, Nowhere) and row.diagnosis.rejection:
        return rejection_status(resolvable=not row.diagnosis.outright)
    return "Success"
