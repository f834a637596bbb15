"""The two schedulers together: who leads, and what is done to them in each round."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from bench.soak.auditing import Audit
from bench.soak.cluster_setup import SCHEDULERS
from bench.soak.documents import Documents, hash_of
from bench.soak.plan import Plan
from bench.soak.schedulers import Scheduler
from bench.soak.wait import until
from devcluster import Cluster

FOLLOW_SECONDS = 60.0
"""How long a scheduler may take to go by a new document, or to refuse it, on whatever machine."""
DOWN_SECONDS = 3.0
"""How long a standby is missing."""


class Pair:
    """Two schedulers that go by one file."""

    def __init__(self, plan: Plan, cluster: Cluster, audit: Audit) -> None:
        self.wrong: list[str] = []
        file = cluster.directory / "document.json"
        self.both = [Scheduler(name, cluster, file) for name in SCHEDULERS]
        self._plan = plan
        self._audit = audit
        self._documents = Documents(file, plan)

    @property
    def leader(self) -> Scheduler:
        """Who leads, by what the API server was told."""
        name = self._audit.handovers[-1].leader
        return next(each for each in self.both if each.name == name)

    @property
    def standby(self) -> Scheduler:
        return next(each for each in self.both if each is not self.leader)

    async def start(self) -> None:
        """Start both. Raises EndedError."""
        self._documents.write(self._documents.usual)
        await asyncio.gather(*(each.start() for each in self.both))

    def look(self) -> None:
        """See what they have logged, that they live, and how large they are."""
        for each in self.both:
            if each.lives:
                each.check()
            if each.is_alive:
                each.life.remember(time.monotonic())

    # What is done to them

    async def change(self, number: int) -> None:
        """Give them a bad document, and then a good one."""
        self._documents.write(self._documents.bad(number))
        await self._say("refuse a bad document", lambda said: bool(said.get("refused")))
        for each in self.both:
            each.refusals += 1
        await self._follow(self._documents.good(number))

    async def change_back(self) -> None:
        """Give them the usual document."""
        await self._follow(self._documents.usual)

    async def end_one(self, number: int) -> tuple[str, float | None]:
        """End one and start it again; return what became of whom, and how many seconds a leader was missing."""
        outright, of_leader = self._plan.kills_outright(number), self._plan.kills_the_leader(number)
        victim, other = (self.leader, self.standby) if of_leader else (self.standby, self.leader)
        ended, handovers, asked = victim.life.name, len(self._audit.handovers), time.time()
        await victim.end(outright=outright)
        missed = None
        if of_leader:
            missed = await self._missed(handovers, asked, outright=outright)
            other.life.settled = time.monotonic()
        else:
            await asyncio.sleep(DOWN_SECONDS)
        self._audit.read()
        await victim.start(self._audit.sent(victim.name))
        return f"{ended} was {'killed' if outright else 'told to end'}", missed

    async def _missed(self, handovers: int, asked: float, *, outright: bool) -> float | None:
        """How long until another leads, once the leader was ended."""
        allowed = FOLLOW_SECONDS + (2 * self._plan.lease_seconds if outright else 0)

        async def is_led() -> bool:
            self._audit.read()
            return len(self._audit.handovers) > handovers

        if not await until(is_led, allowed):
            self.wrong.append(f"nobody led within {allowed:.0f} s after the leader was ended")
            return None
        return self._audit.handovers[-1].at.timestamp() - asked

    async def _follow(self, text: str) -> None:
        self._documents.write(text)
        await self._say("go by the new document", lambda said: said["hash"] == hash_of(text))

    async def _say(self, what: str, check: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until /configz of both says so."""
        for scheduler in self.both:

            async def says(asked: Scheduler = scheduler) -> bool:
                return check(await asked.configz())

            if not await until(says, FOLLOW_SECONDS):
                self.wrong.append(f"{scheduler.life.name} does not {what} within {FOLLOW_SECONDS:.0f} s")
