"""From a chosen node to the permission to bind: the extension points reserve, permit and unreserve.

The first half belongs to the decision and is synchronous; ``wait_on_permit`` runs in the background.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from time import perf_counter
from types import MappingProxyType

from scheduler_runtime.api import ALLOW, Pod, Wait
from scheduler_runtime.framework.context import FrameworkContext
from scheduler_runtime.framework.failure_log import FailureLog
from scheduler_runtime.framework.hook import Hook
from scheduler_runtime.framework.hook_answers import check_rejection
from scheduler_runtime.framework.outcomes import BindError, Placed, PluginError, Unschedulable, rejected_by
from scheduler_runtime.framework.plugin_times import PointTimes, rejection_status
from scheduler_runtime.framework.registration import HookTable
from scheduler_runtime.framework.waiting_pods import MAX_WAIT_SECONDS, PermitWait

logger = logging.getLogger(__name__)


class Reservations:
    """The hooks by which plugins reserve something for a placed pod, hold it, and give back what they reserved."""

    def __init__(self, hooks: HookTable, context: FrameworkContext, times: PointTimes) -> None:
        self._context = context
        self._times = times
        self._failures = FailureLog(logger)
        self._reserve = hooks.hooks("reserve", "reserve")
        self._unreserve = tuple(reversed(hooks.hooks("reserve", "unreserve")))
        self._permit = hooks.hooks("permit", "permit")

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

    def run_unreserve_plugins(self, placed: Placed) -> None:
        """Let the plugins give back what they reserved, last first, also where ``reserve`` did not run.

        The pod is not going to its node, and not nominated to it any more.
        """
        # It is still there if the pod's way ended before ``wait_on_permit`` began, as when a pre-flight fails.
        self._context.waiting.pop(placed.pod.metadata.uid, None)
        self._context.services.nominations.clear(placed.pod)
        if self._unreserve:
            began = perf_counter()
            notify_plugins(self._unreserve, placed, self._failures)
            self._times["Unreserve", "Success"].observe(perf_counter() - began)

    async def wait_on_permit(self, placed: Placed) -> Unschedulable | None:
        """Wait until every plugin allows the pod; return why one did not. Raises BindError if it is called back."""
        uid = placed.pod.metadata.uid
        waiting, progress = self._context.waiting, self._context.services.progress
        wait = waiting.get(uid)
        if wait is None:
            return None
        progress.permits[uid] = wait
        try:
            rejection = await wait.wait()
        finally:
            # A framework that took over meanwhile has the same dict (take_over_waiting_pods).
            del waiting[uid]
            progress.permits.pop(uid, None)
        if wait.preempted_by:
            raise BindError(wait.preempted_by, "waiting on permit for pod: preempted")
        return None if rejection is None else rejected_by(*rejection, placed.pod)

    def call_back(self, pod: Pod, plugin: str) -> bool:
        """Take back the placement of ``pod`` if it waits for a permit, because ``plugin`` needs its room.

        Return whether it did.
        """
        wait = self._context.waiting.get(pod.metadata.uid)
        if wait is None:
            return False
        if self._context.target.version.at_least("1.36"):
            return wait.preempt(plugin)
        # Before 1.36 upstream's preemption rejects the waiting pod as a plugin would (executor.go).
        wait.reject(plugin, "preempted")
        return True

    def take_over_waiting_pods(self, before: FrameworkContext) -> None:
        """Let the pods that wait for a permit of the framework ``before`` wait for the plugins of this one.

        A pod that waits for a plugin which has no permit hook here is not held by it any longer.
        """
        self._context.share_waiting_pods(before)
        permitting = frozenset(hook.plugin for hook in self._permit)
        for wait in tuple(self._context.waiting.values()):
            for plugin in wait.held_by - permitting:
                wait.allow(plugin)


def notify_plugins(hooks: Iterable[Hook], placed: Placed, failures: FailureLog) -> None:
    """Call hooks that cannot change anything any more: one that fails is logged, and the others run all the same."""
    for hook in hooks:
        try:
            hook(placed.pod, placed.node, placed.states.get(hook.plugin))
        except PluginError as error:
            failures.log("plugin failed", error, plugin=hook.plugin, pod=placed.pod.key)
