"""Deciding about pods that extenders have a say in: the decision itself stays synchronous, asking does not.

decide ──► lacks advice ──► extenders are asked ──► decide anew ──► … ──► placed or unschedulable
                                  │
                                  └─ meanwhile: watches, binds, the lease; no other decision
"""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_runtime.framework import ExtenderAnswers, Framework, Placed, Unschedulable
from scheduler_runtime.scheduling.extenders import ExtenderError, RawObjectError
from scheduler_runtime.scheduling.pending import QueuedPod, SchedulingQueue
from scheduler_runtime.state.cache import Cache


class ExtenderRounds:
    """Asks extenders for what a decision lacks, and has it made again."""

    def __init__(self, pending: SchedulingQueue, frameworks: Mapping[str, Framework], cache: Cache) -> None:
        self._pending = pending
        self._frameworks = frameworks
        self._cache = cache

    async def decide(self, entry: QueuedPod) -> Placed | Unschedulable | None:
        """Decide about a pod; None when there is nothing to decide about it any more.

        Nothing is assumed while extenders think. With what they answered the decision is made anew, about the pod and
        the cluster as these are by then, so that nothing is missed that changed meanwhile. Raises ExtenderError or
        RawObjectError, and PluginError as ``Framework.schedule``.
        """
        framework, advice = self._frameworks[entry.profile], ExtenderAnswers()
        while True:
            extenders = framework.extenders
            if extenders is None or not extenders.concern(entry.pod):
                return framework.schedule(entry.pod, self._cache)
            outcome = framework.schedule(entry.pod, self._cache, advice)
            if isinstance(outcome, Placed | Unschedulable):
                return outcome
            try:
                advice = await extenders.answer(outcome, entry.pod, advice, self._cache.table)
            except (ExtenderError, RawObjectError):
                if entry.uid not in self._pending:
                    return None
                framework.nominations.nominate(entry.pod, "")  # as for every attempt that ends in an error
                raise
            if entry.uid not in self._pending or entry.pod.metadata.deletion_timestamp:
                return None
            if self._frameworks[entry.profile] is not framework:  # another profile by that name: it asks others
                framework, advice = self._frameworks[entry.profile], ExtenderAnswers()
