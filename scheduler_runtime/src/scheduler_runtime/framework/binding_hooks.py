"""The extension points around a binding, which run in the background: pre_bind, bind and post_bind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from time import perf_counter

from scheduler_runtime.api import PARALLEL, SERIAL, SKIP, Answer
from scheduler_runtime.framework.context import FrameworkContext
from scheduler_runtime.framework.extender_contract import EXTENDER
from scheduler_runtime.framework.failure_log import FailureLog
from scheduler_runtime.framework.hook import Hook, caught_exceptions, format_exception, is_our_cancellation
from scheduler_runtime.framework.hook_answers import check_rejection, unknown_answer_error
from scheduler_runtime.framework.outcomes import (
    BindError,
    Placed,
    PluginError,
    PreBindPlan,
    RegistrationError,
    Unschedulable,
    rejected_by,
)
from scheduler_runtime.framework.plugin_times import PointTimes, rejection_status
from scheduler_runtime.framework.registration import HookTable
from scheduler_runtime.framework.reserve_permit import notify_plugins
from scheduler_runtime.plugins import IN_TREE

logger = logging.getLogger(__name__)


class BindingHooks:
    """The hooks from ``pre_bind`` to ``post_bind`` of one profile."""

    def __init__(self, hooks: HookTable, context: FrameworkContext, times: PointTimes, profile: str) -> None:
        """Raises RegistrationError when no plugin binds."""
        self._times = times
        self._extenders = context.extenders
        self._failures = FailureLog(logger)
        self._progress = context.services.progress
        self._pre_bind_flight = {hook.plugin: hook for hook in hooks.hooks("preBind", "pre_bind_flight")}
        self._pre_bind = hooks.hooks("preBind", "pre_bind")
        self._bind = hooks.hooks("bind", "bind")
        self._post_bind = hooks.hooks("postBind", "post_bind")
        if not self._bind:
            raise RegistrationError(f"profile {profile}: none of its bind plugins is in this build")

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
        """Prepare the binding; neighbours that agreed to it run beside each other.

        Return why a plugin rejected the pod. Raises BindError.
        """
        began, status = perf_counter(), "Error"
        rejected: Unschedulable | None = None
        try:
            beside: list[Hook] = []
            for hook in self._pre_bind:
                if hook.plugin not in plan:
                    continue
                if plan[hook.plugin] is PARALLEL:
                    beside.append(hook)
                    continue
                rejected = await self._run_beside(beside, placed) or await self._run_beside([hook], placed)
                if rejected:
                    break
                beside = []
            if rejected is None:
                rejected = await self._run_beside(beside, placed)
            status = rejection_status(resolvable=True) if rejected else "Success"
            return rejected
        finally:
            self._times["PreBind", status].observe(perf_counter() - began)

    async def _run_beside(self, hooks: Iterable[Hook], placed: Placed) -> Unschedulable | None:
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
                raise  # The pod was called back, or the scheduler ends: no failure of the plugin.
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


def _words_of(error: BaseException, hook: Hook) -> str:
    """Return how ``hook`` failed: as upstream, an error of the API server that DefaultBinder passes on is unchanged."""
    return (hook.plugin in IN_TREE and str(error)) or format_exception(error)
