"""What the plugins of one profile do context a binding, in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from time import perf_counter

from scheduler_runtime.api import PARALLEL, SERIAL, SKIP, Answer, Pod
from scheduler_runtime.framework.extender_contract import EXTENDER, Extenders
from scheduler_runtime.framework.failure_log import FailureLog
from scheduler_runtime.framework.hook import (
    Hook,
    caught_exceptions,
    checked_rejection,
    format_exception,
    is_our_cancellation,
    unknown,
)
from scheduler_runtime.framework.hook_table import HookTable
from scheduler_runtime.framework.outcomes import (
    BindError,
    Placed,
    PluginError,
    PreBindPlan,
    RegistrationError,
    Unschedulable,
    rejected_by,
)
from scheduler_runtime.framework.plugin_handle import FrameworkContext
from scheduler_runtime.framework.point_metrics import Times, rejection_status
from scheduler_runtime.plugins import IN_TREE

logger = logging.getLogger(__name__)


class Binding:
    """The hooks from waiting for a permit to ``post_bind``, and the one that undoes."""

    def __init__(self, enabled: HookTable, context: FrameworkContext, times: Times, profile: str) -> None:
        """Raises RegistrationError when nobody binds."""
        self._context = context
        self._times = times
        self._failures = FailureLog(logger)
        self._progress = context.services.progress
        self._unreserve = tuple(reversed(enabled.hooks("reserve", "unreserve")))
        self._flight = {hook.plugin: hook for hook in enabled.hooks("preBind", "pre_bind_flight")}
        self._pre_bind = enabled.hooks("preBind", "pre_bind")
        self._bind = enabled.hooks("bind", "bind")
        self._post_bind = enabled.hooks("postBind", "post_bind")
        if not self._bind:
            raise RegistrationError(f"profile {profile}: none of its bind plugins is in this build")

    async def wait_on_permit(self, placed: Placed) -> Unschedulable | None:
        """Wait until every plugin allows the pod; the answer is why one did not. Raises BindError if called back."""
        waiting = self._context.waiting.get(placed.pod.uid)
        if waiting is None:
            return None
        self._progress.permits[placed.pod.uid] = waiting
        try:
            rejected = await waiting.wait()
        finally:
            del self._context.waiting[placed.pod.uid]
            self._progress.permits.pop(placed.pod.uid, None)
        if waiting.preempted_by:
            raise BindError(waiting.preempted_by, "waiting on permit for pod: preempted")
        return None if rejected is None else rejected_by(*rejected, placed.pod)

    def call_back(self, pod: Pod, plugin: str) -> bool:
        """Take back the placement of ``pod`` because ``plugin`` needs its room, if it waits for a permit."""
        waiting = self._context.waiting.get(pod.uid)
        if waiting is None:
            return False
        if self._context.target.version.at_least("1.36"):
            return waiting.preempt(plugin)
        waiting.reject(plugin, "preempted")
        return True

    def run_pre_bind_pre_flights(self, placed: Placed) -> PreBindPlan:
        """Ask who has something to prepare for this binding, and how. Raises BindError."""
        flights = {hook.plugin: self._flight_of(hook, placed) for hook in self._pre_bind}
        return {plugin: flight for plugin, flight in flights.items() if flight is not SKIP}

    def _flight_of(self, hook: Hook, placed: Placed) -> Answer:
        flight = self._flight.get(hook.plugin)
        if flight is None:
            return SERIAL
        try:
            answer: Answer = flight(placed.pod, placed.node, placed.states.get(hook.plugin))
        except PluginError as error:
            raise BindError(hook.plugin, f"running PreBindPreFlight {hook.plugin!r}: {error}") from error
        if answer not in (SKIP, SERIAL, PARALLEL):
            raise BindError(hook.plugin, f"pre_bind_flight answered {answer!r}; wanted is SKIP, SERIAL or PARALLEL")
        return answer

    async def run_pre_bind_plugins(self, placed: Placed, flights: PreBindPlan) -> Unschedulable | None:
        """Prepare the binding: plugins that agreed to it run beside each other.

        The answer is why one of them rejected the pod. Raises BindError.
        """
        began, status = perf_counter(), "Error"
        try:
            rejected = await self._pre_bind_in_order(placed, flights)
            status = rejection_status(resolvable=True) if rejected else "Success"
            return rejected
        finally:
            self._times.since("PreBind", began, status)

    async def _pre_bind_in_order(self, placed: Placed, flights: PreBindPlan) -> Unschedulable | None:
        together: list[Hook] = []
        for hook in self._pre_bind:
            if hook.plugin not in flights:
                continue
            if flights[hook.plugin] is PARALLEL:
                together.append(hook)
                continue
            for hooks in (together, [hook]):
                if rejected := await self._pre_bind_all(hooks, placed):
                    return rejected
            together = []
        return await self._pre_bind_all(together, placed)

    async def _pre_bind_all(self, hooks: Iterable[Hook], placed: Placed) -> Unschedulable | None:
        outcomes = await asyncio.gather(*(self._pre_bind_one(hook, placed) for hook in hooks), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return next((outcome for outcome in outcomes if isinstance(outcome, Unschedulable)), None)

    async def _pre_bind_one(self, hook: Hook, placed: Placed) -> Unschedulable | None:
        self._progress.hooks[placed.pod.uid, hook.plugin] = hook.name
        try:
            reject = await hook.run(placed.pod, placed.node, placed.states.get(hook.plugin))
            if reject is None:
                return None
            return rejected_by(hook.plugin, checked_rejection(hook, reject).reason, placed.pod)
        except caught_exceptions() as error:
            if is_our_cancellation(error):
                raise
            why = f'running PreBind plugin "{hook.plugin}": {_told(hook, error)}'
            raise BindError(hook.plugin, why, hook.of) from error
        finally:
            self._progress.hooks.pop((placed.pod.uid, hook.plugin), None)

    async def run_bind_plugins(self, placed: Placed) -> None:
        """Have an extender bind the pod, or else the first plugin that does not pass. Raises BindError."""
        if self._context.extenders is not None and await self._bound_by_extender(self._context.extenders, placed):
            return
        began = perf_counter()
        for hook in self._bind:
            self._progress.hooks[placed.pod.uid, hook.plugin] = hook.name
            try:
                answer = await hook.run(placed.pod, placed.node, placed.states.get(hook.plugin))
            except caught_exceptions() as error:
                if is_our_cancellation(error):
                    raise
                self._times.since("Bind", began, "Error")
                why = f'running Bind plugin "{hook.plugin}": {_told(hook, error)}'
                raise BindError(hook.plugin, why, hook.of) from error
            finally:
                self._progress.hooks.pop((placed.pod.uid, hook.plugin), None)
            if answer is None:
                self._times.since("Bind", began)
                return
            if answer is not SKIP:
                raise BindError(hook.plugin, f'running Bind plugin "{hook.plugin}": {unknown(hook, answer)}')
        raise BindError("", "every bind plugin passed the pod on")

    async def _bound_by_extender(self, extenders: Extenders, placed: Placed) -> bool:
        try:
            return await extenders.bind(placed.pod, placed.node)
        except Exception as error:
            raise BindError(EXTENDER, str(error)) from error

    def run_post_bind_plugins(self, placed: Placed) -> None:
        """Tell the plugins that the pod is bound. One that fails does not keep it from the others."""
        self._tell("PostBind", self._post_bind, placed)

    def run_unreserve_plugins(self, placed: Placed) -> None:
        """Tell the plugins, last first, that the pod is not going to its node. One that fails keeps nothing back."""
        self._context.waiting.pop(placed.pod.uid, None)
        self._context.services.nominations.nominate(placed.pod, "")
        self._tell("Unreserve", self._unreserve, placed)

    def _tell(self, point: str, hooks: Collection[Hook], placed: Placed) -> None:
        began = perf_counter()
        for hook in hooks:
            try:
                hook(placed.pod, placed.node, placed.states.get(hook.plugin))
            except PluginError as error:
                self._failures.log("plugin failed", error, plugin=hook.plugin, pod=placed.pod.key)
        if hooks:
            self._times.since(point, began)


def _told(hook: Hook, error: BaseException) -> str:
    """How it failed: with the words of the API server alone where a plugin of ours passes them on, as upstream."""
    return (hook.plugin in IN_TREE and str(error)) or format_exception(error)
