"""The end of a decision: what plugins take on the chosen node, and whether they let the pod go there."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from types import MappingProxyType

from scheduler_runtime.api import ALLOW, Wait
from scheduler_runtime.framework.hook import Hook, checked_rejection
from scheduler_runtime.framework.hook_table import HookTable
from scheduler_runtime.framework.outcomes import Placed, Unschedulable, rejected_by
from scheduler_runtime.framework.point_metrics import Times, rejection_status
from scheduler_runtime.framework.waiting_pods import MAX_WAIT_SECONDS, PermitWait


class Reserving:
    """The hooks ``reserve`` and ``permit`` of one profile."""

    def __init__(self, enabled: HookTable, times: Times) -> None:
        self._times = times
        self._reserve = enabled.hooks("reserve", "reserve")
        self._permit = enabled.hooks("permit", "permit")

    @property
    def permitting(self) -> frozenset[str]:
        """The plugins that are asked for permits."""
        return frozenset(hook.plugin for hook in self._permit)

    def reserve_and_permit(self, placed: Placed, waiting: dict[str, PermitWait]) -> Placed | Unschedulable:
        """Let the plugins reserve for ``placed``, and hold it if they want; then it joins ``waiting``.

        Raises PluginError. Then, and when they reject it, they have to be told to unreserve.
        """
        rejected = self._reserved(placed) if self._reserve else None
        if rejected is not None:
            return rejected
        return self._permitted(placed, waiting) if self._permit else placed

    def _reserved(self, placed: Placed) -> Unschedulable | None:
        began = perf_counter()
        for hook in self._reserve:
            reject = hook(placed.pod, placed.node, placed.states.get(hook.plugin))
            if reject is not None:
                self._times.since("Reserve", began, rejection_status(resolvable=True))
                return rejected_by(hook.plugin, checked_rejection(hook, reject).reason, placed.pod)
        self._times.since("Reserve", began)
        return None

    def _permitted(self, placed: Placed, waiting: dict[str, PermitWait]) -> Placed | Unschedulable:
        began = perf_counter()
        waits: dict[str, float] = {}
        for hook in self._permit:
            match hook(placed.pod, placed.node, placed.states.get(hook.plugin)):
                case answer if answer is ALLOW:
                    continue
                case Wait(seconds):
                    waits[hook.plugin] = _at_most(MAX_WAIT_SECONDS, hook, seconds)
                case answer:
                    self._times.since("Permit", began, rejection_status(resolvable=True))
                    return rejected_by(hook.plugin, checked_rejection(hook, answer).reason, placed.pod)
        self._times.since("Permit", began, "Wait" if waits else "Success")
        return self._held(placed, waits, waiting) if waits else placed

    def _held(self, placed: Placed, waits: Mapping[str, float], waiting: dict[str, PermitWait]) -> Placed:
        waiting[placed.pod.uid] = PermitWait(placed.pod, waits)
        return Placed(placed.pod, placed.node, placed.states, MappingProxyType(waits))


def _at_most(longest: float, hook: Hook, seconds: object) -> float:
    if not isinstance(seconds, int | float) or not seconds > 0:
        raise hook.error(f"it waits {seconds!r} seconds; wanted is a number above 0")
    return min(seconds, longest)
