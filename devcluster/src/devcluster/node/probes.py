"""Probes: an action repeated until enough successes or failures in a row make a verdict."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from devcluster.node.actions import KINDS, Target, act
from devcluster.node.api import Object


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a probe. ``verdict`` is None until there were enough in a row."""

    failure: str
    verdict: bool | None


async def probe(specification: Object, target: Target, since: float) -> AsyncIterator[Attempt]:
    """Run a probe for ever, at its own pace, of a container that runs ``since`` that instant of the loop's clock."""
    action = {kind: specification[kind] for kind in KINDS & specification.keys()}
    seconds = specification.get("timeoutSeconds", 1)
    streak = Streak(specification.get("successThreshold", 1), specification.get("failureThreshold", 3))
    begins = since + specification.get("initialDelaySeconds", 0)
    await asyncio.sleep(begins - asyncio.get_running_loop().time())
    while True:
        try:
            async with asyncio.timeout(seconds):
                failure = await act(action, target)
        except TimeoutError:
            failure = f"no answer within {seconds} s"
        yield Attempt(failure, streak.verdict(succeeded=not failure))
        await asyncio.sleep(specification.get("periodSeconds", 10))


@dataclass(slots=True)
class Streak:
    """Equal results in a row, against a probe's two thresholds."""

    success_threshold: int
    failure_threshold: int
    _last: bool | None = None
    _length: int = 0

    def verdict(self, *, succeeded: bool) -> bool | None:
        """Count one more result: True or False once there were enough of it in a row, else None."""
        self._length = self._length + 1 if succeeded is self._last else 1
        self._last = succeeded
        enough = self.success_threshold if succeeded else self.failure_threshold
        return succeeded if self._length >= enough else None
