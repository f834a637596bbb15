"""Group of running reflectors, some of which start or stop while the others go on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Any

from scheduler_runtime.kube.watch.reflector import Reflector

logger = logging.getLogger(__name__)

SYNC_SECONDS = 15.0
CATCH_UP_SECONDS = 15.0
"""The limit for a new leader's waiting for objects of plugins: as long as a Lease usually lasts."""


class NotListedError(Exception):
    """Some reflectors have not listed their objects in time; the message names them and the reason."""


class ReflectorGroup:
    """Runs reflectors, each in a task. What one of them raises ends ``run``: it is an error of this program."""

    def __init__(self, on_rollback: Callable[[], None] = lambda: None) -> None:
        """``on_rollback`` is called when the API server's data went back in time: once, not for each reflector."""
        self._on_rollback = on_rollback
        self._tasks: dict[Reflector[Any], asyncio.Task[None]] = {}
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Wait until one of them fails, and raise its error; stop all of them when cancelled."""
        try:
            await self._failed
        finally:
            self.stop(tuple(self._tasks))

    def start(self, reflectors: Collection[Reflector[Any]]) -> None:
        """Run ``reflectors`` from now on."""
        for reflector in reflectors:
            running = reflector.run(self._on_rollback)
            task = self._tasks[reflector] = asyncio.create_task(running, name=f"watch {reflector.kind.path}")
            task.add_done_callback(self._on_done)

    def stop(self, reflectors: Collection[Reflector[Any]]) -> None:
        """Run ``reflectors`` no more. At the end of the process they may have been stopped with all others before."""
        for reflector in reflectors:
            if task := self._tasks.pop(reflector, None):
                task.cancel()

    def _on_done(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failed.done():
            self._failed.set_exception(error)


async def wait_until_listed(reflectors: Collection[Reflector[Any]], seconds: float = SYNC_SECONDS) -> None:
    """Return when all ``reflectors`` have listed their objects. Raises NotListedError after ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            for reflector in reflectors:
                await reflector.synced.wait()
    except TimeoutError as error:
        late = [reflector for reflector in reflectors if not reflector.synced.is_set()]
        reasons = "; ".join(reflector.trouble or f"{reflector.kind.path}: no answer" for reflector in late)
        raise NotListedError(f"what its plugins watch was not listed within {seconds:g} s: {reasons}") from error


async def wait_until_caught_up(
    indispensable: Collection[Reflector[Any]], others: Collection[Reflector[Any]], seconds: float = CATCH_UP_SECONDS
) -> None:
    """Return when the copies have all that was written before this call, ``others`` after ``seconds`` at the latest.

    Without the pods that the last leader bound, a node could be filled twice: it is better to place no pod. But a kind
    that a plugin watches may be gone for good, or the right to read it, and pods that do not need it should not wait
    for that: decisions use the old copy then, as those of kube-scheduler do.
    """

    async def catch_up_in_time(reflector: Reflector[Any]) -> None:
        try:
            async with asyncio.timeout(seconds):
                await reflector.catch_up()
        except TimeoutError:
            path, reason = reflector.kind.path, reflector.trouble or "whether it holds all is not known"
            logger.error("decides by an old copy of %s, not caught up within %g s: %s", path, seconds, reason)

    await asyncio.gather(
        *(reflector.catch_up() for reflector in indispensable), *(catch_up_in_time(reflector) for reflector in others)
    )
