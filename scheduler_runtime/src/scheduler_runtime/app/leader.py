"""Leadership as the event loop sees it: an elector in a thread of its own, and events to wait for."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Sequence
from functools import partial

from scheduler_runtime.app.forced_exit import run_or_exit
from scheduler_runtime.app.watchdog.heartbeat import Heartbeat
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
SHOWN = 5
"""So many of what has not ended are named."""


class Election:
    """Whether and until when this process may act. Without leader election: always.

    Raises CredentialsError or ValueError when it cannot take part.
    """

    def __init__(self, wanted: LeaderElection, kubeconfig: str, user_agent: str) -> None:
        self.won = asyncio.Event()
        self.lost = asyncio.Event()
        self.heartbeat = Heartbeat()
        self._on_restored: Callable[[str, str], None] = lambda *_: None
        self._elector: LeaderElector | None = None
        self._thread: threading.Thread | None = None
        self.bind_seconds = BIND_SECONDS_WITHOUT_ELECTION
        if not wanted.leader_elect:
            return
        settings = LeaseSettings(
            namespace=wanted.resource_namespace,
            name=wanted.resource_name,
            identity=unique_identity(),
            lease_duration=wanted.lease_duration_seconds,
            renew_deadline=wanted.renew_deadline_seconds,
            retry_period=wanted.retry_period_seconds,
        )
        # A binding that arrives must have been sent so late at most that no other leads yet.
        self.bind_seconds = 0.9 * (settings.lease_duration - settings.renew_deadline)
        loop = asyncio.get_running_loop()
        self._elector = create_elector(
            settings,
            LeaderCallbacks(
                on_started=partial(_call_in_loop, loop, self.won.set),
                on_stopped=lambda: run_or_exit(loop, self.lost.set, f"lease {settings.key} is not held any more"),
                on_new_leader=self._say_holder,
                on_restored=lambda *how: _call_in_loop(loop, self._on_restored, *how),
            ),
            kubeconfig=kubeconfig,
            user_agent=user_agent,
            health_check=self.heartbeat.check_by_name,
        )

    @property
    def name(self) -> str:
        """The Lease's name, empty without leader election."""
        return self._elector.settings.name if self._elector else ""

    @property
    def identity(self) -> str:
        """Who this process is in the Lease, empty without leader election."""
        return self._elector.settings.identity if self._elector else ""

    @property
    def lease(self) -> Lease:
        """The Lease as it was last seen, empty without leader election."""
        return self._elector.lease if self._elector else {}

    @property
    def has_rivals(self) -> bool:
        """Whether others may have led, and acted, until we did."""
        return self._elector is not None

    @property
    def is_leader(self) -> bool:
        return self._elector.is_leader if self._elector else self.won.is_set()

    def leads_until(self) -> float:
        """The monotonic instant until which acting is safe."""
        return self._elector.leads_until if self._elector else math.inf

    def check(self) -> str | None:
        """Say what is wrong with a leader that should have stopped, for /livez."""
        return self._elector.check() if self._elector else None

    def start(self, on_restored: Callable[[str, str], None] = lambda *_: None) -> None:
        """Stand for election. ``on_restored`` is called in the event loop, as the elector calls it."""
        if self._elector is None:
            self.won.set()
            return
        self._on_restored = on_restored
        self._thread = threading.Thread(target=self._run, args=(self._elector,), name="elector", daemon=True)
        self._thread.start()

    async def stop(self, *, release: bool, left: Sequence[str] = ()) -> None:
        """Renew the lease no more. To be called when we do not act as the leader any more.

        With ``release`` it is given up at once, which is for when nothing that was sent may still arrive either.
        What is ``left`` without it is for the log.
        """
        if self._elector and self._thread:
            if not release:
                logger.warning(
                    "lease %s is not released, others wait until it runs out: bindings or preemptions did not end "
                    "in time, and may still be carried out%s",
                    self._elector.settings.key,
                    f": {a_few(left)}" if left else "",
                )
            self._elector.stop(release=release)
            await asyncio.to_thread(self._thread.join, STOP_SECONDS)

    def _say_holder(self, identity: str) -> None:
        """Say who leads, and how long that is waited for at most; that we do is said elsewhere."""
        elector = self._elector
        if elector is None or identity == elector.settings.identity:
            return
        logger.info("lease %s is held by %s", elector.settings.key, standing_by(identity, elector.seconds_until_free))

    def _run(self, elector: LeaderElector) -> None:
        try:
            elector.run()
        except Exception:  # an elector that fails has lost: on_stopped has said so
            logger.exception("leader election failed")


def standing_by(identity: str, seconds: float) -> str:
    """Who holds a lease, and for how many ``seconds`` that is waited for if it is not renewed."""
    if seconds <= 0:
        return identity or "nobody"
    return f"{identity or 'nobody'}; standing by, for {seconds:.0f} s at most if it is not renewed"


def a_few(of: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(of) - SHOWN} more" if len(of) > SHOWN else ""
    return ", ".join(of[:SHOWN]) + more


def _call_in_loop(loop: asyncio.AbstractEventLoop, act: Callable[..., object], *arguments: object) -> None:
    """Call ``act`` in ``loop`` from another thread, unless the process is ending and the loop is closed."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(act, *arguments)
