"""Leader election as the event loop sees it; the elector itself runs in a thread of its own."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from scheduler_runtime.kube.leader_election import LeaderCallbacks, LeaderElector, LeaseSettings, create_elector

JOIN_SECONDS = 15.0


class Leadership:
    """Leadership by the operator's Lease: the events ``won`` and ``lost`` are set in the loop, each once."""

    def __init__(self, settings: LeaseSettings, kubeconfig: str, user_agent: str) -> None:
        """Raises CredentialsError."""
        loop = asyncio.get_running_loop()
        self.won = asyncio.Event()
        self.lost = asyncio.Event()

        def set_in_loop(event: asyncio.Event) -> None:
            # The elector calls back in its own thread; an asyncio.Event may only be set in the loop's.
            loop.call_soon_threadsafe(event.set)

        self.elector: LeaderElector = create_elector(
            settings,
            LeaderCallbacks(on_started=partial(set_in_loop, self.won), on_stopped=partial(set_in_loop, self.lost)),
            kubeconfig=kubeconfig,
            user_agent=user_agent,
        )
        self._thread = threading.Thread(target=self.elector.run, name="elector", daemon=True)

    @asynccontextmanager
    async def campaign(self) -> AsyncIterator[None]:
        """Take part in the election while the context lasts, and release the Lease at its end.

        Nothing that acts as the leader may run any more when the context ends.
        """
        self._thread.start()
        try:
            yield
        finally:
            self.elector.stop(release=True)
            await asyncio.to_thread(self._thread.join, JOIN_SECONDS)
