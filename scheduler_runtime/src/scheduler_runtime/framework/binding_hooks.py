"""The hooks after the choice of a node, from reserve to post_bind or all the way back to unreserve.

reserve ─► permit ─┊─► wait on permit ─► pre_bind ─► bind ─► post_bind
    └────────┴─────┊────────┴───────────────┴─────────┴────► unreserve
         decision  ┊  in the background, by ``scheduling.binding_cycle``
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from itertools import groupby
from time import perf_counter
from types import MappingProxyType

from scheduler_runtime.api import ALLOW, PARALLEL, SERIAL, SKIP, Answer, Pod, Wait
from scheduler_runtime.framework.context import FrameworkContext
from scheduler_runtime.framework.extender_contract import EXTENDER
from scheduler_runtime.framework.failure_log import FailureLog
from scheduler_runtime.framework.hook import (
    Hook,
    caught_exceptions,
    check_rejection,
    format_exception,
    is_our_cancellation,
    unknown_answer_error,
)
from scheduler_runtime.framework.outcomes import (
    BindError,
    Placed,
    PluginError,
    PreBindPlan,
    PreemptedError,
    RegistrationError,
    Unschedulable,
    rejected_by,
)
from scheduler_runtime.framework.permit_waits import MAX_WAIT_SECONDS, PermitWait
from scheduler_runtime.framework.plugin_times import PointTimes, rejection_status
from scheduler_runtime.framework.registration import HookTable
from scheduler_runtime.plugins import IN_TREE

logger = logging.getLogger(__name__)


class BindingHooks:
    """The hooks of one profile by which plugins reserve for a placed pod, hold it, bind it, or give it up."""

    def __init__(self, hooks: HookTable, context: FrameworkContext, times: PointTimes, profile: str) -> None:
        """Raises RegistrationError when no plugin binds."""
        self._context = context
        self._times = times
        self._extenders = context.extenders
        self._failures = FailureLog(logger)
        self._progress = context.services.progress
        self._reserve = hooks.hooks("reserve", "reserve")
        self._unreserve = tuple(reversed(hooks.hooks("reserve", "unreserve")))
        self._permit = hooks.hooks("permit", "permit")
        self._pre_bind_flight = {hook.plugin: hook for hook in hooks.hooks("preBind", "pre_bind_flight")}
        self._pre_bind = hooks.hooks("preBind", "pre_bind")
        self._bind = hooks.hooks("bind", "bind")
        self._post_bind = hooks.hooks("postBind", "post_bind")
        if not self._bind:
            raise RegistrationError(f"profile {profile}: none of its bind plugins is in this build")

    # In the decision.

    def run_reserve_plugins(self, placed: Placed) -> Unschedulable | None:
        """Let the plugins reserve for ``placed``; return why one rejects it. Raises PluginError.

        In both of these cases ``run_unreserve_plugins`` has to follow.
        """
        if not self._reserve:
            return None
        began = perf_counter()
        for hook in self._reserve:
            reject = hook(placed.pod, placed.node, placed.states.get(hook.plugin))
            if reject is not None:
                self._times["Reserve", rejection_status(resolvable=True)].observe(perf_counter() - began)
                return rejected_by(hook.plugin, check_rejection(hook, reject).reason, placed.pod)
        self._times["Reserve", "Success"].observe(perf_counter() - began)
        return None

    def run_permit_plugins(self, placed: Placed) -> Placed | Unschedulable:
        """Return ``placed``, with the plugins that hold the pod, or why one rejects it. Raises PluginError.

        A pod that is held is among the waiting pods from now on, although ``wait_on_permit`` begins later: a plugin may
        allow it in between. After a rejection and an error ``run_unreserve_plugins`` has to follow.
        """
        if not self._permit:
            return placed
        began = perf_counter()
        waits: dict[str, float] = {}
        for hook in self._permit:
            match hook(placed.pod, placed.node, placed.states.get(hook.plugin)):
                case answer if answer is ALLOW:
                    continue
                case Wait(timeout):
                    seconds: object = timeout  # An author may have given anything.
                    if not isinstance(seconds, int | float) or not seconds > 0:
                        raise hook.error(f"it waits {seconds!r} seconds; expected a number above 0")
                    waits[hook.plugin] = min(seconds, MAX_WAIT_SECONDS)
                case answer:
                    self._times["Permit", rejection_status(resolvable=True)].observe(perf_counter() - began)
                    return rejected_by(hook.plugin, check_rejection(hook, answer).reason, placed.pod)
        self._times["Permit", "Wait" if waits else "Success"].observe(perf_counter() - began)
        if not waits:
            return placed
        self._context.waiting[placed.pod.metadata.uid] = PermitWait(placed.pod, waits)
        return Placed(placed.pod, placed.node, placed.states, MappingProxyType(waits))

    # Waiting for permits.

    async def wait_on_permit(self, placed: Placed) -> Unschedulable | None:
        """Wait until every plugin allows the pod; return why one did not. Raises BindError if the pod is preempted."""
        uid = placed.pod.metadata.uid
        waiting, progress = self._context.waiting, self._context.services.progress
        wait = waiting.get(uid)
        if wait is None:
            return None
        progress.permits[uid] = wait
        try:
            rejection = await wait.wait()
        finally:
            # A framework that took over meanwhile has the same dict (take_over_permit_waits).
            del waiting[uid]
            progress.permits.pop(uid, None)
        if wait.preempted_by:
            raise PreemptedError(wait.preempted_by, "waiting on permit for pod: preempted")
        return None if rejection is None else rejected_by(*rejection, placed.pod)

    def preempt_waiting_pod(self, pod: Pod, plugin: str) -> bool:
        """Take back the placement of ``pod`` if it waits for a permit, because ``plugin`` needs its room.

        Return whether it did.
        """
        wait = self._context.waiting.get(pod.metadata.uid)
        if wait is None or wait.is_decided:
            return False
        if self._context.target.version.at_least("1.36"):
            wait.preempt(plugin)
        else:  # Before 1.36 upstream's preemption rejects the waiting pod as a plugin would (executor.go).
            wait.reject(plugin, "preempted")
        return True

    def take_over_permit_waits(self, before: FrameworkContext) -> None:
        """Let the pods that wait for a permit of the framework ``before`` wait for the plugins of this one.

        A pod that waits for a plugin which has no permit hook here is not held by it any longer.
        """
        self._context.share_permit_waits(before)
        permitting = frozenset(hook.plugin for hook in self._permit)
        for wait in tuple(self._context.waiting.values()):
            for plugin in wait.held_by - permitting:
                wait.allow(plugin)

    # In the background.

    def run_pre_bind_pre_flights(self, placed: Placed) -> PreBindPlan:
        """Return the plugins that have something to do before this binding, and how. Raises BindError."""
        plan: dict[str, Answer] = {}
        for pre_bind in self._pre_bind:
            plugin = pre_bind.plugin
            hook = self._pre_bind_flight.get(plugin)
            if hook is None:  # A plugin that does not tell has something to do, as far as is known.
                plan[plugin] = SERIAL
                continue
            try:
                answer: Answer = hook(placed.pod, placed.node, placed.states.get(plugin))
            except PluginError as error:
                raise BindError(plugin, f"running PreBindPreFlight {plugin!r}: {error}") from error
            if answer not in (SKIP, SERIAL, PARALLEL):
                raise BindError(plugin, f"pre_bind_flight answered {answer!r}; expected SKIP, SERIAL or PARALLEL")
            if answer is not SKIP:
                plan[plugin] = answer
        return plan

    async def run_pre_bind_plugins(self, placed: Placed, plan: PreBindPlan) -> Unschedulable | None:
        """Prepare the binding; neighbours that agreed to it run in parallel.

        Return why a plugin rejected the pod. Raises BindError.
        """
        began, status = perf_counter(), "Error"
        rejected: Unschedulable | None = None
        try:
            for group in _parallel_groups(self._pre_bind, plan):
                rejected = await self._run_in_parallel(group, placed)
                if rejected:
                    break
            status = rejection_status(resolvable=True) if rejected else "Success"
            return rejected
        finally:
            self._times["PreBind", status].observe(perf_counter() - began)

    async def _run_in_parallel(self, hooks: Iterable[Hook], placed: Placed) -> Unschedulable | None:
        """Run ``pre_bind`` of some plugins at the same time, all of them to the end. Raises BindError."""
        # To the end, also when one fails: ``unreserve`` must not run while another still prepares.
        outcomes = await asyncio.gather(*(self._run_pre_bind(hook, placed) for hook in hooks), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return next((outcome for outcome in outcomes if isinstance(outcome, Unschedulable)), None)

    async def _run_pre_bind(self, hook: Hook, placed: Placed) -> Unschedulable | None:
        step = placed.pod.metadata.uid, hook.plugin
        self._progress.hooks[step] = hook.name
        try:
            reject = await hook.run(placed.pod, placed.node, placed.states.get(hook.plugin))
            if reject is None:
                return None
            return rejected_by(hook.plugin, check_rejection(hook, reject).reason, placed.pod)
        except caught_exceptions() as error:
            if is_our_cancellation(error):
                raise  # The pod was preempted, or the scheduler ends: no failure of the plugin.
            why = f'running PreBind plugin "{hook.plugin}": {_words_of(error, hook)}'
            raise BindError(hook.plugin, why, hook.instance) from error
        finally:
            self._progress.hooks.pop(step, None)

    async def run_bind_plugins(self, placed: Placed) -> None:
        """Have an extender bind the pod, or else the first plugin that does not answer SKIP. Raises BindError."""
        pod, node = placed.pod, placed.node
        if self._extenders is not None:
            try:
                if await self._extenders.bind(pod, node):
                    return
            except Exception as error:
                # As upstream, no plugin binds a pod that an extender was to bind.
                raise BindError(EXTENDER, str(error)) from error
        began = perf_counter()
        for hook in self._bind:
            plugin = hook.plugin
            self._progress.hooks[pod.metadata.uid, plugin] = hook.name
            try:
                answer = await hook.run(pod, node, placed.states.get(plugin))
            except caught_exceptions() as error:
                if is_our_cancellation(error):
                    raise
                self._times["Bind", "Error"].observe(perf_counter() - began)
                why = f'running Bind plugin "{plugin}": {_words_of(error, hook)}'
                raise BindError(plugin, why, hook.instance) from error
            finally:
                self._progress.hooks.pop((pod.metadata.uid, plugin), None)
            if answer is None:
                self._times["Bind", "Success"].observe(perf_counter() - began)
                return
            # None of the plugins after it may try: the API server may have bound the pod already.
            if answer is not SKIP:
                raise BindError(plugin, f'running Bind plugin "{plugin}": {unknown_answer_error(hook, answer)}')
        raise BindError("", "every bind plugin passed the pod on")

    def run_post_bind_plugins(self, placed: Placed) -> None:
        """Let the plugins know that the pod is bound. One that fails does not keep it from the others."""
        if self._post_bind:
            began = perf_counter()
            notify_plugins(self._post_bind, placed, self._failures)
            self._times["PostBind", "Success"].observe(perf_counter() - began)

    # All the way back.

    def run_unreserve_plugins(self, placed: Placed) -> None:
        """Let the plugins give back what they reserved, last first, also where ``reserve`` did not run.

        The pod is not going to its node.
        """
        # It is still there if the pod's way ended before ``wait_on_permit`` began, as when a pre-flight fails.
        self._context.waiting.pop(placed.pod.metadata.uid, None)
        if self._unreserve:
            began = perf_counter()
            notify_plugins(self._unreserve, placed, self._failures)
            self._times["Unreserve", "Success"].observe(perf_counter() - began)


def _parallel_groups(hooks: Iterable[Hook], plan: PreBindPlan) -> Iterator[list[Hook]]:
    """Yield the hooks of ``plan`` in their order: neighbours that may run in parallel together, any other alone."""
    planned = (hook for hook in hooks if hook.plugin in plan)
    for is_parallel, neighbours in groupby(planned, lambda hook: plan[hook.plugin] is PARALLEL):
        if is_parallel:
            yield list(neighbours)
        else:
            yield from ([hook] for hook in neighbours)


def notify_plugins(hooks: Iterable[Hook], placed: Placed, failures: FailureLog) -> None:
    """Call hooks that cannot change anything any more: one that fails is logged, and the others run all the same."""
    for hook in hooks:
        try:
            hook(placed.pod, placed.node, placed.states.get(hook.plugin))
        except PluginError as error:
            failures.log("plugin failed", error, plugin=hook.plugin, pod=placed.pod.key)


def _words_of(error: BaseException, hook: Hook) -> str:
    """Return how ``hook`` failed: as upstream, an error of the API server that DefaultBinder passes on is unchanged."""
    return (hook.plugin in IN_TREE and str(error)) or format_exception(error)
