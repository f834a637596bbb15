"""Reflectors at work: some begin, and some end, while the others go on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Any

from scheduler_runtime.kube.watch import Reflector

logger = logging.getLogger(__name__)

SYNC_SECONDS = 15.0
CATCH_UP_SECONDS = 15.0
"""How long a new leader waits for what its plugins watch: as long as a Lease usually runs."""


class NotListedError(Exception):
    """Something could not be listed in time; the message says what."""


class ReflectorGroup:
    """Runs reflectors. What one of them raises ends ``run``: it is an error of this program."""

    def __init__(self, on_rollback: Callable[[], None] = lambda: None) -> None:
        """``on_rollback`` is called when the API server's data went back in time: once, not for each reflector."""
        self._on_rollback = on_rollback
        self._tasks: dict[Reflector[Any], asyncio.Task[None]] = {}
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Wait until one of them fails; end all of them when cancelled."""
        try:
            await self._failed
        finally:
            self.stop(tuple(self._tasks))

    def start(self, reflectors: Collection[Reflector[Any]]) -> None:
        """Run these as well."""
        for reflector in reflectors:
            running = reflector.run(self._on_rollback)
            task = self._tasks[reflector] = asyncio.create_task(running, name=f"watch {reflector.kind.path}")
            task.add_done_callback(self._ended)

    def stop(self, reflectors: Collection[Reflector[Any]]) -> None:
        """Do not run these any longer. At the end of the process they may have ended already, with all the others."""
        for reflector in reflectors:
            if task := self._tasks.pop(reflector, None):
                task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failed.done():
            self._failed.set_exception(error)


async def wait_until_listed(reflectors: Collection[Reflector[Any]], seconds: float = SYNC_SECONDS) -> None:
    """Return when all of them hold what there is. Raises NotListedError."""
    try:
        async with asyncio.timeout(seconds):
            for each in reflectors:
                await each.synced.wait()
    except TimeoutError as error:
        missing = [each for each in reflectors if not each.synced.is_set()]
        said = "; ".join(each.trouble or f"{each.kind.path}: no answer" for each in missing)
        raise NotListedError(f"what its plugins watch was not listed within {seconds:g} s: {said}") from error


async def wait_until_caught_up(
    indispensable: Collection[Reflector[Any]], others: Collection[Reflector[Any]], seconds: float = CATCH_UP_SECONDS
) -> None:
    """Return when all that was written before this call is known, of ``others`` after ``seconds`` at the latest.

    Without the pods that the last leader bound, a node could be filled twice: better nobody is placed. What a
    plugin watches may be gone for good, its kind or the right to see it, and pods that need it not should not
    have to wait for that: it is decided by the last that was seen, as kube-scheduler does.
    """
    await asyncio.gather(
        *(each.catch_up() for each in indispensable), *(_caught_up_in_time(each, seconds) for each in others)
    )


async def _caught_up_in_time(reflector: Reflector[Any], seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await reflector.catch_up()
    except TimeoutError:
        why = reflector.trouble or "whether it holds all is not known"
        logger.error("decides by an old copy of %s, not caught up within %g s: %s", reflector.kind.path, seconds, why)
