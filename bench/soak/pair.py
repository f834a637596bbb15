"""The two schedulers together: the leader, the changes of their document, and the kill of each round."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bench.soak.auditing import Audit
from bench.soak.cluster_setup import SCHEDULERS
from bench.soak.documents import Documents, document_hash
from bench.soak.plan import Plan
from bench.soak.schedulers import Scheduler
from devcluster import Cluster

FOLLOW_SECONDS = 60.0
"""The time in which a scheduler must follow or refuse a new document, on any machine."""
DOWN_SECONDS = 3.0
"""The time between the end of a standby and its next start."""


class Pair:
    """Two schedulers that follow one file."""

    def __init__(self, plan: Plan, cluster: Cluster, audit: Audit) -> None:
        self.wrong: list[str] = []
        file = cluster.directory / "document.json"
        self.both = [Scheduler(name, cluster, file) for name in SCHEDULERS]
        self._plan = plan
        self._audit = audit
        self._documents = Documents(file, plan)

    @property
    def leader(self) -> Scheduler:
        """The leader, by the audit log of the API server."""
        name = self._audit.handovers[-1].leader
        return next(scheduler for scheduler in self.both if scheduler.name == name)

    @property
    def standby(self) -> Scheduler:
        return next(scheduler for scheduler in self.both if scheduler is not self.leader)

    async def start(self) -> None:
        """Start both. Raises EndedError."""
        self._documents.write(self._documents.usual)
        await asyncio.gather(*(scheduler.start() for scheduler in self.both))

    def look(self) -> None:
        """Check their logs and that they live, and sample their memory."""
        for scheduler in self.both:
            if scheduler.lives:
                scheduler.check()
            if scheduler.is_alive:
                scheduler.life.remember(time.monotonic())

    # Changes and kills

    async def change(self, number: int) -> None:
        """Give them a bad document, and then a good one."""
        self._documents.write(self._documents.bad(number))
        await self._await_answer("refuse a bad document", lambda answer: bool(answer.get("refused")))
        for scheduler in self.both:
            scheduler.refusals += 1
        await self._follow(self._documents.good(number))

    async def change_back(self) -> None:
        """Give them the usual document."""
        await self._follow(self._documents.usual)

    async def end_one(self, number: int) -> tuple[str, float | None]:
        """End one and start it again; return a sentence about it, and the seconds that a leader was missing."""
        outright, of_leader = self._plan.kills_outright(number), self._plan.kills_the_leader(number)
        victim, other = (self.leader, self.standby) if of_leader else (self.standby, self.leader)
        ended, handovers, start = victim.life.name, len(self._audit.handovers), time.time()
        await victim.end(outright=outright)
        missed = None
        if of_leader:
            missed = await self._missed(handovers, start, outright=outright)
            other.life.settled = time.monotonic()
        else:
            await asyncio.sleep(DOWN_SECONDS)
        # The requests of the ended process must not count for the new one.
        self._audit.read()
        await victim.start(self._audit.sent(victim.name))
        return f"{ended} was {'killed' if outright else 'told to end'}", missed

    async def _missed(self, handovers: int, start: float, *, outright: bool) -> float | None:
        """The seconds until another one leads, after the end of the leader."""
        allowed = FOLLOW_SECONDS + (2 * self._plan.lease_seconds if outright else 0)

        async def is_led() -> bool:
            self._audit.read()
            return len(self._audit.handovers) > handovers

        if not await until(is_led, allowed):
            self.wrong.append(f"nobody led within {allowed:.0f} s after the leader was ended")
            return None
        return self._audit.handovers[-1].at.timestamp() - start

    async def _follow(self, text: str) -> None:
        self._documents.write(text)
        await self._await_answer("go by the new document", lambda answer: answer["hash"] == document_hash(text))

    async def _await_answer(self, what: str, check: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until ``check`` is true for /configz of both."""
        for scheduler in self.both:

            async def answers(target: Scheduler = scheduler) -> bool:
                return check(await target.configz())

            if not await until(answers, FOLLOW_SECONDS):
                self.wrong.append(f"{scheduler.life.name} does not {what} within {FOLLOW_SECONDS:.0f} s")


LOOK_SECONDS = 0.3


async def until(check: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    """Wait until ``check`` is true, and return False if that takes too long. An OSError counts as false."""
    latest = time.monotonic() + seconds
    while time.monotonic() < latest:
        with contextlib.suppress(OSError):
            if await check():
                return True
        await asyncio.sleep(LOOK_SECONDS)
    return False
