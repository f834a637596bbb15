"""Getting the victims off their node, in the background, while their preemptor waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from scheduler_runtime.api import Handle, Pod
from scheduler_runtime.plugins.defaultpreemption.candidate import Candidate

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""How long a preemptor waits whose victims could not be evicted. Upstream tries again at once, as often as it can."""


class Evictions:
    """The preemptions that are under way."""

    def __init__(self, handle: Handle, plugin: str) -> None:
        self._handle = handle
        self._plugin = plugin
        self._last_victims: dict[str, Pod | None] = {}

    def holds(self, preemptor: Pod) -> bool:
        """Whether victims of ``preemptor`` have still to be evicted, so that another attempt comes too early.

        When only the last victim is left this is told by the victim: its end is what wakes the preemptor, and may be
        heard of before the API server's answer to the request that caused it.
        """
        if preemptor.uid not in self._last_victims:
            return False
        victim = self._last_victims[preemptor.uid]
        if victim is None:
            return True
        latest = self._handle.latest(victim)
        return latest is not None and latest.metadata.deletion_timestamp is None

    def begin(self, preemptor: Pod, chosen: Candidate) -> Coroutine[Any, Any, None] | None:
        """What has to be done so that ``preemptor`` fits; None when all victims are leaving already."""
        victims = [pod for pod in chosen.victims if pod.metadata.deletion_timestamp is None]
        if not victims:
            return None
        self._last_victims[preemptor.uid] = None
        return self._evict(preemptor, chosen.node, victims)

    async def _evict(self, preemptor: Pod, node: str, victims: Sequence[Pod]) -> None:
        try:
            problems = await self._clear_nominations(preemptor, node)
            *others, last = victims
            failed = await _problems(self._preempt(victim, preemptor, node) for victim in others)
            is_unheard = False
            if not failed:  # Otherwise the preemptor is better off trying again soon than with one victim more.
                self._last_victims[preemptor.uid] = last
                is_unheard = self._handle.latest(last) is None
                failed = await _problems([self._preempt(last, preemptor, node)])
            if failed:
                await asyncio.sleep(PAUSE_SECONDS)
            problems += failed
        finally:
            self._last_victims.pop(preemptor.uid, None)
        if problems:
            logger.warning("preemption failed", extra={"pod": preemptor.key, "node": node, "because": str(problems[0])})
        if problems or is_unheard:  # The last victim went while the preemptor was held: nothing else wakes it.
            self._handle.activate([preemptor])

    async def _clear_nominations(self, preemptor: Pod, node: str) -> list[Exception]:
        """Let less important pods that are nominated to ``node`` look for another place."""
        return await _problems(
            self._handle.preemptions.clear_nomination(pod)
            for pod in self._handle.nominated_to(node)
            if pod.spec.priority < preemptor.spec.priority
        )

    def _preempt(self, victim: Pod, preemptor: Pod, node: str) -> Coroutine[Any, Any, None]:
        return self._handle.preemptions.preempt(victim, preemptor, node, self._plugin)


async def _problems(works: Iterable[Coroutine[Any, Any, None]]) -> list[Exception]:
    """Do all of ``works`` beside each other; return what went wrong."""
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, Exception)]
