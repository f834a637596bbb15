"""Leadership, seen from the event loop: the elector itself has a thread of its own."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from scheduler_runtime.kube.leader_election import LeaderElector, LeaseSettings, create_elector

JOIN_SECONDS = 15.0


class Election:
    """Whether we lead: ``won`` and ``over`` are set in the loop, each once."""

    def __init__(self, settings: LeaseSettings, kubeconfig: str, user_agent: str) -> None:
        """Raises CredentialsError."""
        self._loop = asyncio.get_running_loop()
        self.won = asyncio.Event()
        self.over = asyncio.Event()
        self.elector: LeaderElector = create_elector(
            settings,
            kubeconfig=kubeconfig,
            user_agent=user_agent,
            on_started=lambda: self._tell(self.won),
            on_stopped=lambda: self._tell(self.over),
        )
        self._thread = threading.Thread(target=self.elector.run, name="elector", daemon=True)

    def _tell(self, event: asyncio.Event) -> None:
        self._loop.call_soon_threadsafe(event.set)

    @asynccontextmanager
    async def standing(self) -> AsyncIterator[None]:
        """Stand for election. When the context ends, so that nothing acts any more, give the Lease back."""
        self._thread.start()
        try:
            yield
        finally:
            self.elector.stop(release=True)
            await asyncio.to_thread(self._thread.join, JOIN_SECONDS)
