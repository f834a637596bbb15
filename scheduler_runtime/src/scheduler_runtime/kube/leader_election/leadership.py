"""Leadership as an event loop sees it: the elector runs in a thread, and its callbacks become events to await."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable

from scheduler_runtime.kube.leader_election.elector import LeaderCallbacks, LeaderElector, create_elector
from scheduler_runtime.kube.leader_election.lease import Lease, LeaseSettings

logger = logging.getLogger(__name__)

InLoop = Callable[[asyncio.AbstractEventLoop, Callable[[], None]], None]
"""A function that has another one called in an event loop, from any thread."""


def call_in_loop(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """Call ``act`` in ``loop`` from another thread, unless the process is ending and the loop is closed."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(act)


class Leadership:
    """Leadership of this process: is it the leader, and until when. Without an election it leads from its start on.

    ``won`` and ``lost`` are set once each: whoever has lost the lease ends, and does not stand for election again.
    """

    def __init__(
        self,
        settings: LeaseSettings | None,
        kubeconfig: str = "",
        user_agent: str = "berth",
        *,
        health_check: Callable[[], str | None] = lambda: None,
        report_loss: InLoop = call_in_loop,
    ) -> None:
        """Take part in the election of ``settings``; None: there is none. To be made in the event loop.

        ``health_check`` returns the problem for which a leader gives up its lease. ``report_loss`` is how the elector's
        thread has ``lost`` set; another one may end a process whose loop is stuck. Raises CredentialsError.
        """
        self.settings = settings
        self.won = asyncio.Event()
        self.lost = asyncio.Event()
        self._on_restored: Callable[[str, str], None] = lambda *_: None
        self._elector: LeaderElector | None = None
        self._thread: threading.Thread | None = None
        if settings is None:
            return
        # The callbacks come from the elector's thread; an asyncio.Event may only be set in its loop.
        loop = asyncio.get_running_loop()
        callbacks = LeaderCallbacks(
            on_started=lambda: call_in_loop(loop, self.won.set),
            on_stopped=lambda: report_loss(loop, self.lost.set),
            on_new_leader=self._log_holder,
            on_restored=lambda reason, text: call_in_loop(loop, lambda: self._on_restored(reason, text)),
        )
        self._elector = create_elector(
            settings, callbacks, kubeconfig=kubeconfig, user_agent=user_agent, health_check=health_check
        )

    @property
    def name(self) -> str:
        """The Lease's name, empty without an election."""
        return self.settings.name if self.settings else ""

    @property
    def identity(self) -> str:
        """This process's name in the Lease, empty without an election."""
        return self.settings.identity if self.settings else ""

    @property
    def lease(self) -> Lease:
        """The Lease as it was last seen, empty without an election."""
        return self._elector.lease if self._elector else {}

    @property
    def has_rivals(self) -> bool:
        """True if another process may have led, and acted, before."""
        return self._elector is not None

    @property
    def is_leader(self) -> bool:
        """True if this process has won the election and not stopped since; see ``leads_until``."""
        return self._elector.is_leader if self._elector else self.won.is_set()

    def leads_until(self) -> float:
        """Return the monotonic instant until which acting as the leader is safe."""
        return self._elector.leads_until if self._elector else math.inf

    def check(self) -> str | None:
        """Return the problem of a leader that should have stopped, for /livez; None if there is none."""
        return self._elector.check() if self._elector else None

    def start(self, on_restored: Callable[[str, str], None] = lambda *_: None) -> None:
        """Stand for election. ``on_restored`` is called in the event loop, as the elector calls it."""
        if self._elector is None:
            self.won.set()
            return
        self._on_restored = on_restored
        elector = self._elector

        def run() -> None:
            try:
                elector.run()
            except Exception:  # on_stopped was called all the same, so this process ends
                logger.exception("leader election failed")

        self._thread = threading.Thread(target=run, name="elector", daemon=True)
        self._thread.start()

    async def stop(self, *, release: bool, seconds: float) -> None:
        """Stop renewing the lease, and wait so many ``seconds`` at most until that is done.

        To be called when this process does not act as the leader any more. With ``release`` the lease is free at once.
        That is safe only if no request that was sent may still arrive: otherwise the lease is left to expire.
        """
        if self._elector and self._thread:
            self._elector.stop(release=release)
            await asyncio.to_thread(self._thread.join, seconds)

    def _log_holder(self, identity: str) -> None:
        # That we lead ourselves is logged by the elector.
        elector = self._elector
        if elector is None or identity == elector.settings.identity:
            return
        logger.info(
            "lease %s is held by %s", elector.settings.key, describe_holder(identity, elector.seconds_until_free)
        )


def describe_holder(identity: str, seconds: float) -> str:
    """Return the holder of a lease, and for how many ``seconds`` others wait if it is not renewed."""
    if seconds <= 0:
        return identity or "nobody"
    return f"{identity or 'nobody'}; standing by, for {seconds:.0f} s at most if it is not renewed"
