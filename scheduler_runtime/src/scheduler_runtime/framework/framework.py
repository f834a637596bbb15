"""One profile at work: the decision about a pod, made by the plugins of the profile.

From a pod and the nodes to the node on which the pod is assumed, or to the reasons against all nodes:

    schedule ─► choose ─┬─► from the cache ────┬─► a row ─► assume ─► reserve ─► permit ─► Placed
                        └─► from the plugins ──┴─► no row ─► post_filter ────────────────► Unschedulable

A decision is synchronous and does no I/O: between reading the table and assuming the pod nothing can change, and the
next decision sees what this one took. Upstream's schedulingCycle in schedule_one.go. A Framework, upstream's
frameworkImpl (runtime/framework.go), also has the hooks before and after the decision:

    queue    pre_enqueue, sort_key, events and hints (``queue_hooks``)
    binding  reserve, permit, pre_bind, bind, post_bind, unreserve (``binding_hooks``)
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from time import perf_counter
from types import MappingProxyType
from typing import Any, overload

from scheduler_runtime.api import Plugin, Pod
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.framework.answer_cache import AnswerCache
from scheduler_runtime.framework.binding_hooks import BindingHooks
from scheduler_runtime.framework.context import FrameworkContext, PluginServices
from scheduler_runtime.framework.decision_hooks import run_post_filter_plugins
from scheduler_runtime.framework.decision_state import DecisionState
from scheduler_runtime.framework.extender_contract import (
    ExtenderAnswers,
    Extenders,
    FilterQuestion,
    Question,
    ScoreQuestion,
    VictimQuestion,
)
from scheduler_runtime.framework.node_chooser import NodeChooser, NoFeasibleNode
from scheduler_runtime.framework.outcomes import CLEAR_NOMINATION, AssumeCache, Placed, Unschedulable
from scheduler_runtime.framework.plugin_times import (
    PRE_FILTER,
    PointTimes,
    SlowPluginWatch,
    hook_timer,
    rejection_status,
)
from scheduler_runtime.framework.queue_hooks import QueueHooks
from scheduler_runtime.framework.registration import HookTable, register_plugins
from scheduler_runtime.framework.sampling import Sampler
from scheduler_runtime.framework.unsupported import FIELDS, message_for, needed_plugins
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.state.objects import QuantityError
from scheduler_runtime.state.table import Table

NO_NODES = "no nodes available to schedule pods"
"""Upstream's ErrNoNodesAvailable."""


class Framework:
    """The plugins of one profile, called in the profile's order.

    A pod that ``schedule`` places must end in ``binding.run_post_bind_plugins`` or in ``release``; until then the pod
    is assumed on its node.
    """

    def __init__(
        self,
        profile: EffectiveProfile,
        services: PluginServices,
        version: Version,
        seed: int | None = None,
        classes: Mapping[str, type[Plugin]] = IN_TREE,
        feature_gates: Mapping[str, bool] = MappingProxyType({}),
        extenders: Extenders | None = None,
    ) -> None:
        """Make the plugins of ``profile`` from ``classes``. Raises RegistrationError when one cannot be used.

        ``feature_gates`` are those that do not have the version's default.
        """
        self.profile = profile
        self.version = version
        self.extenders = extenders
        self.nominations = services.nominations
        target = Target(version, feature_gates)
        self.writes_expected_node = target.enabled("NominatedNodeNameForExpectation")
        """Whether a pod's status gets the node that it is about to have, if binding takes a while."""
        random = Random(seed)  # noqa: S311 - ties, not secrets
        self.context = FrameworkContext(services, target, random, extenders)
        self._plugins = register_plugins(profile, classes, self.context)

        self._slow_plugins = SlowPluginWatch(name for name in self._plugins if name not in IN_TREE)
        self._times = PointTimes(services.metrics, profile.scheduler_name)
        self._timer = hook_timer(services.metrics)
        hooks = HookTable(profile, self._plugins, services.metrics, self._slow_plugins)
        self.queue = QueueHooks(hooks, self._plugins, self._times, has_extenders=extenders is not None)
        """The hooks around the queue."""
        self.binding = BindingHooks(hooks, self.context, self._times, profile.scheduler_name)
        """The hooks after the choice of a node."""

        decision_hooks = hooks.decision_hooks(self._timer)
        pod_plugins = hooks.looking_at_pods
        self.answer_cache = AnswerCache(
            hooks.cacheable_plugins(),
            pod_plugins,
            sum(scorer.weight for scorer in decision_hooks.score),
            self.context,
            every_version_matters=any(name in pod_plugins and name not in IN_TREE for name in hooks.cached),
        )
        self._watched_by_cached = hooks.watched_by_cached
        percentage = profile.percentage_of_nodes_to_score or 0
        are_scored = bool(decision_hooks.score) or (extenders is not None and extenders.filter_or_score)
        self.chooser = NodeChooser(
            decision_hooks,
            hooks.row_filters(self._timer),
            self.answer_cache,
            hooks.cached,
            services.nominations,
            random,
            Sampler(percentage, services.search_position, first_will_do=not are_scored)
            if 0 < percentage < 100
            else None,
        )
        self._post_filters = hooks.post_filters(version)
        filters = [plugin.name for plugin in profile.points.get("filter", ())]
        self._missing = {name: FIELDS[name] for name in filters if name in FIELDS and name not in self._plugins}
        """The filters that the profile enables and this build does not have."""

    def plugin(self, name: str) -> Any:
        """Return the plugin called ``name``. Raises KeyError when the profile or this build does not have it."""
        return self._plugins[name].plugin

    def take_over_from(self, before: Framework) -> None:
        """Take the place of ``before``, whose pods that wait for a permit now wait for the plugins of this profile.

        A pod that waits for a plugin which has no permit hook here is not held by it any longer.
        """
        self.binding.take_over_permit_waits(before.context)

    def invalidate_for(self, resource: str) -> None:
        """Forget the cached answers if a plugin among them watches ``resource``, of which an object changed."""
        if resource in self._watched_by_cached:
            self.answer_cache.clear()

    # The decision.

    @overload
    def schedule(self, pod: Pod, cluster: AssumeCache) -> Placed | Unschedulable: ...

    @overload
    def schedule(
        self, pod: Pod, cluster: AssumeCache, answers: ExtenderAnswers
    ) -> Placed | Unschedulable | Question: ...

    def schedule(
        self, pod: Pod, cluster: AssumeCache, answers: ExtenderAnswers | None = None
    ) -> Placed | Unschedulable | Question:
        """Choose a node and assume ``pod`` there, or return why there is none.

        ``answers`` are those of extenders so far; the next question for them is then a result, too. Without ``answers``
        extenders have no say. Raises PluginError, with everything as it was.
        """
        try:
            with self.context.decision(cluster.table, answers):
                outcome = self._find_node(pod, cluster.table, answers)
                if isinstance(outcome, Placed):
                    outcome = self._take_node(outcome, cluster)
        except Exception:
            # As upstream's handleSchedulingFailure: whatever room was made for the pod, the next attempt looks anew.
            self.nominations.clear(pod)
            raise
        finally:
            if self._slow_plugins.times:  # most profiles have no plugin that is watched
                self._slow_plugins.end_decision()
        if isinstance(outcome, Unschedulable) and outcome.nomination:
            # From now on, not only when the pod's status says it: the next decision has to leave the pod its room.
            if node := outcome.nomination.node_name:
                self.nominations.nominate(pod, node)
            else:
                self.nominations.clear(pod)
        return outcome

    def _find_node(self, pod: Pod, table: Table, answers: ExtenderAnswers | None) -> Placed | Unschedulable | Question:
        """Choose a node, or let plugins make room where there is none. Nothing is assumed here."""
        refusal = self._refuse(pod, table)  # before the cache: a pod without readable requests has no key
        if refusal is not None:
            return refusal
        decision = DecisionState(pod, table)
        # All rounds of questions about a pod count as one decision: until it has its answers no other is made.
        self._timer.start(is_new=answers is None or answers == ExtenderAnswers())
        try:
            choice = self.chooser.choose(decision, answers)
        finally:
            self._timer.stop()  # Not for post_filter, which may judge thousands of nodes one by one.
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
            self._times[point, status].observe(seconds)
        return outcome

    def _refuse(self, pod: Pod, table: Table) -> Unschedulable | None:
        """Return the outcome for a pod about which the plugins need not be asked, and could not answer."""
        if not table.names:  # Arrays without rows have no maximum.
            return Unschedulable(pod, NO_NODES, frozenset(), CLEAR_NOMINATION)
        needed = needed_plugins(pod, self._missing)
        if needed:
            return Unschedulable(pod, message_for(needed), frozenset(needed))
        if pod.derived is None:  # Its requests were not added up when it was decoded: perhaps they cannot be read.
            try:
                _ = pod.requests
            except QuantityError as error:
                message = f"0/{len(table)} nodes are available: {error}."
                # The events of that plugin wake the pod when its requests change.
                return Unschedulable(pod, message, frozenset({"NodeResourcesFit"}))
        return None

    def _run_post_filters(
        self, decision: DecisionState, choice: NoFeasibleNode, answers: ExtenderAnswers | None
    ) -> Unschedulable | VictimQuestion:
        """Let the plugins make room for a pod that no node takes; return the outcome, with their reasons.

        Raises PluginError.
        """
        # Once only: a plugin that asks again with the answer in its hands would ask for ever.
        may_consult = answers is not None and answers.victims is None
        self.context.open_what_if(self.chooser.what_if(decision))
        began = perf_counter()
        diagnosis, hooks = choice.diagnosis, self._post_filters
        result = run_post_filter_plugins(hooks, decision, choice.nodes, diagnosis.verdicts, may_consult=may_consult)
        if result.consult is not None:
            return VictimQuestion(result.consult.candidates)
        if hooks:
            has_node = result.nomination is not None and result.nomination.node_name != ""
            status = "Success" if has_node else rejection_status(resolvable=True)
            self._times["PostFilter", status].observe(perf_counter() - began)
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
        self.nominations.forget(placed.pod.metadata.uid)
        try:
            rejected = self.binding.run_reserve_plugins(placed)
            outcome = rejected or self.binding.run_permit_plugins(placed)
        except Exception:  # a plugin's or ours: a pod that stayed assumed would hold its room for ever
            self.release(placed, cluster)
            raise
        if isinstance(outcome, Unschedulable):
            self.release(placed, cluster)
        return outcome

    def release(self, placed: Placed, cluster: AssumeCache) -> None:
        """Take the pod off its node and its nomination, after its plugins have given back what they reserved.

        Unreserve runs for all plugins, as upstream: also for those that reserved before the one that failed.
        """
        self.nominations.clear(placed.pod)
        try:
            self.binding.run_unreserve_plugins(placed)
        finally:
            cluster.forget(placed.pod)
