"""One profile at work: its plugins around the queue, in a decision, and around a binding.

Upstream's frameworkImpl (runtime/framework.go), under the names that its methods have. Here is what each of them
promises; the work is done by the part that it hands over to:

    queue_hooks       pre_enqueue, sort_key, events and hints
    decision          pre_filter to score, or post_filter; assume, reserve, permit
    reserve_permit    reserve, permit, waiting for permits, unreserve
    binding_hooks     pre_bind, bind, post_bind
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import Any, overload

from scheduler_runtime.api import Plugin, Pod
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.framework.answer_cache import AnswerCache
from scheduler_runtime.framework.binding_hooks import BindingHooks
from scheduler_runtime.framework.context import FrameworkContext, PluginServices
from scheduler_runtime.framework.decision import Decisions
from scheduler_runtime.framework.extender_contract import ExtenderAnswers, Extenders, Question
from scheduler_runtime.framework.node_chooser import NodeChooser
from scheduler_runtime.framework.outcomes import AssumeCache, Placed, Unschedulable
from scheduler_runtime.framework.plugin_times import DecisionClocks, PointTimes, SlowPluginWatch, hook_timer
from scheduler_runtime.framework.queue_hooks import QueueHooks
from scheduler_runtime.framework.registration import HookTable, register_plugins
from scheduler_runtime.framework.reserve_permit import Reservations
from scheduler_runtime.framework.sampling import Sampler
from scheduler_runtime.framework.unsupported import FIELDS
from scheduler_runtime.plugins import IN_TREE


class Framework:
    """The plugins of one profile, called in the profile's order.

    ``schedule`` is synchronous and does no I/O. A pod that it places must end in ``binding.run_post_bind_plugins`` or
    in ``run_unreserve_plugins``; until then the pod is assumed on its node.
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

        clocks = DecisionClocks(
            PointTimes(services.metrics, profile.scheduler_name),
            hook_timer(services.metrics),
            SlowPluginWatch(name for name in self._plugins if name not in IN_TREE),
        )
        times, timer = clocks.points, clocks.timer
        hooks = HookTable(profile, self._plugins, services.metrics, clocks.slow_plugins)
        self.queue = QueueHooks(hooks, self._plugins, times, has_extenders=extenders is not None)
        """The hooks around the queue."""

        decision_hooks = hooks.decision_hooks(timer)
        looking = hooks.looking_at_pods()
        self.answer_cache = AnswerCache(
            hooks.cacheable_plugins(),
            looking,
            sum(scorer.weight for scorer in decision_hooks.score),
            self.context,
            every_version_matters=any(name in looking and name not in IN_TREE for name in hooks.cached),
        )
        self._watched_by_cached = hooks.watched_by_cached()
        percentage = profile.percentage_of_nodes_to_score or 0
        weighs = bool(decision_hooks.score) or (extenders is not None and extenders.weigh_nodes)
        self.chooser = NodeChooser(
            decision_hooks,
            hooks.row_filters(timer),
            self.answer_cache,
            hooks.cached,
            services.nominations,
            random,
            Sampler(percentage, services.search_position, weighs=weighs) if 0 < percentage < 100 else None,
        )
        filters = [plugin.name for plugin in profile.points.get("filter", ())]
        missing = {name: FIELDS[name] for name in filters if name in FIELDS and name not in self._plugins}
        self._reservations = Reservations(hooks, self.context, times)
        self._decisions = Decisions(
            self.chooser,
            hooks.post_filters(version),
            self._reservations,
            missing,
            self.context,
            clocks,
        )
        self.binding = BindingHooks(hooks, self.context, times, profile.scheduler_name)
        """The hooks from ``pre_bind`` to ``post_bind``, which run in the background."""

    def plugin(self, name: str) -> Any:
        """Return the plugin called ``name``. Raises KeyError when the profile or this build does not have it."""
        return self._plugins[name].plugin

    def take_over_from(self, before: Framework) -> None:
        """Take the place of ``before``, whose pods that wait for a permit now wait for the plugins of this profile.

        A pod that waits for a plugin which has no permit hook here is not held by it any longer.
        """
        self._reservations.take_over_waiting_pods(before.context)

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
        return self._decisions.schedule(pod, cluster, answers)

    # In the background.

    async def wait_on_permit(self, placed: Placed) -> Unschedulable | None:
        """Wait until every plugin allows the pod; return why one did not. Raises BindError if it is called back."""
        return await self._reservations.wait_on_permit(placed)

    def call_back(self, pod: Pod, plugin: str) -> bool:
        """Take back the placement of ``pod`` if it waits for a permit, because ``plugin`` needs its room.

        Return whether it did.
        """
        return self._reservations.call_back(pod, plugin)

    def run_unreserve_plugins(self, placed: Placed) -> None:
        """Let the plugins give back what they reserved, last first: the pod is not going to its node."""
        self._reservations.run_unreserve_plugins(placed)
