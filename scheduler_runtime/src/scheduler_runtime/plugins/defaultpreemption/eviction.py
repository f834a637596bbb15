"""Eviction of victims in the background, while their preemptor waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from scheduler_runtime.api import Handle, Pod
from scheduler_runtime.plugins.defaultpreemption.candidates import Candidate

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""The wait of a preemptor whose victims could not be evicted. Upstream tries again at once, as often as it can."""


class Evictions:
    """The preemptions that are under way."""

    def __init__(self, handle: Handle, plugin: str) -> None:
        self._handle = handle
        self._plugin = plugin
        self.last_victims: dict[str, Pod | None] = {}
        """By the preemptor's uid; None until only the last victim is left."""

    def is_evicting_for(self, preemptor: Pod) -> bool:
        """True if victims of ``preemptor`` have still to be evicted, so that another attempt comes too early.

        Once only the last victim is left, the victim itself decides: its deletion wakes the preemptor, and the watch
        may report it before the API server's response to the request that caused it arrives.
        """
        if preemptor.metadata.uid not in self.last_victims:
            return False
        victim = self.last_victims[preemptor.metadata.uid]
        if victim is None:
            return True
        latest = self._handle.latest(victim)
        return latest is not None and latest.metadata.deletion_timestamp is None

    def start(self, preemptor: Pod, candidate: Candidate) -> Coroutine[Any, Any, None] | None:
        """The work that makes ``preemptor`` fit; None when all victims are being deleted already.

        Its end takes back what is noted here. Only where the process ends may it be cancelled before it has begun, and
        never come to its end: then nothing decides any more.
        """
        victims = [pod for pod in candidate.victims if pod.metadata.deletion_timestamp is None]
        if not victims:
            return None
        # The last one wakes the preemptor, so those that others have claimed, and that go before, come first.
        victims.sort(key=self._handle.is_leaving, reverse=True)
        self._handle.claim_victims(preemptor, victims)
        # From now on, not from when the work begins to run: the preemptor must not come back in between.
        self.last_victims[preemptor.metadata.uid] = None
        return self._evict(preemptor, candidate.node, victims)

    async def _evict(self, preemptor: Pod, node: str, victims: Sequence[Pod]) -> None:
        try:
            # Less important pods that are nominated to the node have to look for another place.
            problems = await _run_all(
                self._handle.preemptions.clear_nomination(pod)
                for pod in self._handle.nominated_to(node)
                if pod.spec.priority < preemptor.spec.priority
            )
            *others, last = victims
            failures = await _run_all(self._preempt(victim, preemptor, node) for victim in others)
            was_deleted_before = False
            if not failures:  # Otherwise the preemptor is better off trying again soon than with one victim more.
                self.last_victims[preemptor.metadata.uid] = last
                was_deleted_before = self._handle.latest(last) is None
                failures = await _run_all([self._preempt(last, preemptor, node)])
            if failures:
                await asyncio.sleep(PAUSE_SECONDS)
            problems += failures
        finally:
            self._handle.release_victims(preemptor, victims)
            self.last_victims.pop(preemptor.metadata.uid, None)
        if problems:
            logger.warning("preemption failed", extra={"pod": preemptor.key, "node": node, "because": str(problems[0])})
            # Others that are to go to this node waited for these victims, which may stay after all.
            others_in_line = (pod for pod in self._handle.nominated_to(node) if pod.uid != preemptor.uid)
            self._handle.activate([preemptor, *others_in_line])
        elif was_deleted_before:  # The last victim ended while the preemptor was held: nothing else wakes it.
            self._handle.activate([preemptor])

    def _preempt(self, victim: Pod, preemptor: Pod, node: str) -> Coroutine[Any, Any, None]:
        return self._handle.preemptions.preempt(victim, preemptor, node, self._plugin)


async def _run_all(works: Iterable[Coroutine[Any, Any, None]]) -> list[Exception]:
    """Run all of ``works`` concurrently; return their errors."""
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, Exception)]
