"""One profile at work: what its plugins say context the queue, in a decision, and context a binding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Any, TypeVar, overload

from scheduler_runtime.api import ClusterEvent, Event, Plugin, Pod, QueueEntry
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.framework.binding_hooks import Binding
from scheduler_runtime.framework.decision import Decisions
from scheduler_runtime.framework.extender_contract import ExtenderAnswers, Extenders, Question
from scheduler_runtime.framework.hook_table import HookTable
from scheduler_runtime.framework.outcomes import AssumeCache, Placed, PluginError, PreBindPlan, QueueGate, Unschedulable
from scheduler_runtime.framework.plugin_handle import FrameworkContext, PluginServices
from scheduler_runtime.framework.point_metrics import Times
from scheduler_runtime.framework.queue_hooks import Queueing
from scheduler_runtime.framework.registration import register
from scheduler_runtime.framework.reserve_permit import Reserving
from scheduler_runtime.framework.slow_plugins import SlowPluginWatch
from scheduler_runtime.framework.unsupported import JUDGED_BY
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.state.table import Table

Chosen = TypeVar("Chosen")


class Framework:
    """The plugins of one profile, called in the profile's order.

    ``schedule`` is synchronous and does no I/O. What it returns as placed must end in ``post_bind`` or in
    ``unreserve``; until then the pod is assumed on its node.
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
        self.nominations = services.nominations
        self.context = FrameworkContext(services, Target(version, feature_gates), Random(seed))  # noqa: S311 - ties, not secrets
        self.extenders = self.context.extenders = extenders
        self._plugins = register(profile, classes, self.context)
        self._pace = SlowPluginWatch(name for name in self._plugins if name not in IN_TREE)
        times = Times(services.metrics, profile.scheduler_name)
        enabled = HookTable(profile, self._plugins, services.metrics, self._pace)
        self._queueing = Queueing(enabled, self._plugins, times, has_extenders=extenders is not None)
        missing, percentage = _missing(profile, self._plugins), profile.percentage_of_nodes_to_score or 0
        self.decisions = Decisions(enabled, self.context, times, missing, percentage)
        self.answer_cache = self.decisions.answer_cache
        self.writes_expected_node = self.context.target.enabled("NominatedNodeNameForExpectation")
        """Whether a pod's status is to say which node it is about to have, while that takes a while."""
        self._reserving = Reserving(enabled, times)
        self._binding = Binding(enabled, self.context, times, profile.scheduler_name)

    def plugin(self, name: str) -> Any:
        """The plugin called ``name``. Raises KeyError when the profile has none, or this build has not."""
        return self._plugins[name].plugin

    def take_over_from(self, before: Framework) -> None:
        """Take the place of ``before``, whose pods that wait for a permit now wait for the plugins of this profile.

        One that waits for a plugin which is not asked for permits any more is not held by it any longer.
        """
        self.context.waiting = before.context.waiting  # shared, as the tasks that wait still go by ``before``
        for waiting in tuple(self.context.waiting.values()):
            for plugin in waiting.held_by - self._reserving.permitting:
                waiting.allow(plugin)

    def invalidate_for(self, resource: str) -> None:
        """Objects of ``resource`` changed: forget what plugins that watch them said."""
        self.decisions.invalidate_for(resource)

    # Around the queue.

    def pre_enqueue(self, pod: Pod) -> QueueGate | None:
        """The first plugin that keeps ``pod`` out of the queue. Raises PluginError."""
        return self._queueing.pre_enqueue(pod)

    def sort_key(self, entry: QueueEntry) -> Any:
        """Where ``entry`` stands in the queue: the smallest key is next. Raises PluginError."""
        return self._queueing.sort_key(entry)

    def events(self) -> Mapping[str, tuple[ClusterEvent, ...]]:
        """For each plugin, the events after which a pod it rejected is worth another attempt."""
        return self._queueing.events()

    def hint(self, plugin: str, event: Event, pod: Pod) -> bool:
        """Whether ``event`` may make ``pod`` schedulable, which ``plugin`` rejected. A plugin that fails says yes."""
        return self._queueing.hint(plugin, event, pod)

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
        """Choose a node and assume ``pod`` there, or say why there is none.

        ``answers`` are what extenders have said so far; what they have to be asked next is then a result, too. Without
        ``answers`` extenders have no say in it. Raises PluginError, with everything as it was.
        """
        if answers is None:
            return self._attempt(pod, cluster, self.decisions.decide)
        self.context.advice = answers
        try:
            return self._attempt(pod, cluster, partial(self.decisions.decide_with, answers))
        finally:
            self.context.advice = None

    def _attempt(
        self, pod: Pod, cluster: AssumeCache, decide: Callable[[Pod, Table], Chosen]
    ) -> Chosen | Placed | Unschedulable:
        self.context.table = cluster.table
        try:
            chosen = decide(pod, cluster.table)
            outcome = self._place(chosen, cluster) if isinstance(chosen, Placed) else chosen
        except Exception:
            self.nominations.nominate(pod, "")
            raise
        finally:
            self.context.table = None
            self._pace.decided()
        if isinstance(outcome, Unschedulable) and outcome.nomination:
            node = outcome.nomination.node
            self.nominations.nominate(pod, node if isinstance(node, str) else "")
        return outcome

    def _place(self, placed: Placed, cluster: AssumeCache) -> Placed | Unschedulable:
        cluster.assume(placed.pod, placed.node)
        self.nominations.forget(placed.pod.uid)
        try:
            outcome = self._reserving.reserve_and_permit(placed, self.context.waiting)
        except PluginError:
            self.run_unreserve_plugins(placed)
            cluster.forget(placed.pod)
            raise
        if isinstance(outcome, Unschedulable):
            self.run_unreserve_plugins(placed)
            cluster.forget(placed.pod)
        return outcome

    # In the background.

    async def wait_on_permit(self, placed: Placed) -> Unschedulable | None:
        """Wait until every plugin allows the pod; the answer is why one did not. Raises BindError if called back."""
        return await self._binding.wait_on_permit(placed)

    def call_back(self, pod: Pod, plugin: str) -> bool:
        """Take back the placement of ``pod`` because ``plugin`` needs its room, if it waits for a permit."""
        return self._binding.call_back(pod, plugin)

    def run_pre_bind_pre_flights(self, placed: Placed) -> PreBindPlan:
        """Ask who has something to prepare for this binding, and how. Raises BindError."""
        return self._binding.run_pre_bind_pre_flights(placed)

    async def run_pre_bind_plugins(self, placed: Placed, plan: PreBindPlan) -> Unschedulable | None:
        """Prepare the binding; the answer is why a plugin rejected the pod. Raises BindError."""
        return await self._binding.run_pre_bind_plugins(placed, plan)

    async def run_bind_plugins(self, placed: Placed) -> None:
        """Let the first plugin that does not pass bind the pod. Raises BindError."""
        await self._binding.run_bind_plugins(placed)

    def run_post_bind_plugins(self, placed: Placed) -> None:
        """Tell the plugins that the pod is bound. One that fails does not keep it from the others."""
        self._binding.run_post_bind_plugins(placed)

    def run_unreserve_plugins(self, placed: Placed) -> None:
        """Tell the plugins, last first, that the pod is not going to its node. One that fails keeps nothing back."""
        self._binding.run_unreserve_plugins(placed)


def _missing(profile: EffectiveProfile, present: Iterable[str]) -> Mapping[str, Any]:
    enabled = [plugin.name for plugin in profile.points.get("filter", ())]
    return {name: JUDGED_BY[name] for name in enabled if name in JUDGED_BY and name not in present}
