"""Leader election for the event loop: runs the elector in a thread, and turns its callbacks into events to await."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Sequence
from functools import partial

from scheduler_runtime.app.forced_exit import run_or_exit
from scheduler_runtime.config import LeaderElection
from scheduler_runtime.kube.leader_election import (
    LeaderCallbacks,
    LeaderElector,
    Lease,
    LeaseSettings,
    create_elector,
    unique_identity,
)

logger = logging.getLogger(__name__)

BIND_SECONDS_WITHOUT_ELECTION = 30.0
STOP_SECONDS = 6.0
LONGEST_LIST = 5
"""How many of the unfinished bindings are named in the log."""


class Election:
    """Leadership of this process: is it the leader, and until when. Without leader election it always leads."""

    def __init__(
        self,
        config: LeaderElection,
        kubeconfig: str,
        user_agent: str,
        health_check: Callable[[], str | None] = lambda: None,
    ) -> None:
        """``health_check`` returns the problem for which a leader gives up its lease.

        Raises CredentialsError or ValueError when this process cannot take part.
        """
        self.won = asyncio.Event()
        self.lost = asyncio.Event()
        self._on_restored: Callable[[str, str], None] = lambda *_: None
        self._elector: LeaderElector | None = None
        self._thread: threading.Thread | None = None
        self.bind_seconds = BIND_SECONDS_WITHOUT_ELECTION
        if not config.leader_elect:
            return
        settings = LeaseSettings(
            namespace=config.resource_namespace,
            name=config.resource_name,
            identity=unique_identity(),
            lease_duration=config.lease_duration_seconds,
            renew_deadline=config.renew_deadline_seconds,
            retry_period=config.retry_period_seconds,
        )
        # A binding is sent only while it would arrive, or time out, before another leader may act.
        self.bind_seconds = 0.9 * (settings.lease_duration - settings.renew_deadline)
        loop = asyncio.get_running_loop()  # all callbacks come from the elector's thread
        self._elector = create_elector(
            settings,
            LeaderCallbacks(
                on_started=partial(_call_in_loop, loop, self.won.set),
                on_stopped=lambda: run_or_exit(loop, self.lost.set, f"lease {settings.key} is not held any more"),
                on_new_leader=self._log_holder,
                on_restored=lambda *how: _call_in_loop(loop, self._on_restored, *how),
            ),
            kubeconfig=kubeconfig,
            user_agent=user_agent,
            health_check=health_check,
        )

    @property
    def name(self) -> str:
        """The Lease's name, empty without leader election."""
        return self._elector.settings.name if self._elector else ""

    @property
    def identity(self) -> str:
        """This process's name in the Lease, empty without leader election."""
        return self._elector.settings.identity if self._elector else ""

    @property
    def lease(self) -> Lease:
        """The Lease as it was last seen, empty without leader election."""
        return self._elector.lease if self._elector else {}

    @property
    def has_rivals(self) -> bool:
        """True if another process may have led, and acted, before."""
        return self._elector is not None

    @property
    def is_leader(self) -> bool:
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

    async def stop(self, *, release: bool, unfinished: Sequence[str] = ()) -> None:
        """Stop renewing the lease. To be called when this process does not act as the leader any more.

        With ``release`` the lease is free at once. That is safe only if no request that was sent may still arrive:
        otherwise the lease is left to expire, and the log names the ``unfinished`` work.
        """
        if self._elector and self._thread:
            if not release:
                logger.warning(
                    "lease %s is not released, others wait until it runs out: bindings or preemptions did not end "
                    "in time, and may still be carried out%s",
                    self._elector.settings.key,
                    f": {shorten(unfinished)}" if unfinished else "",
                )
            self._elector.stop(release=release)
            await asyncio.to_thread(self._thread.join, STOP_SECONDS)

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


def shorten(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = f" and {len(names) - LONGEST_LIST} more" if len(names) > LONGEST_LIST else ""
    return ", ".join(names[:LONGEST_LIST]) + more


def _call_in_loop(loop: asyncio.AbstractEventLoop, act: Callable[..., object], *arguments: object) -> None:
    """Call ``act`` in ``loop`` from another thread, unless the process is ending and the loop is closed."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(act, *arguments)
