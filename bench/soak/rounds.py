"""The soak itself: rounds of churn, in each of them documents and a kill, and after each a calm to judge in."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from bench.cluster.client import Server
from bench.soak.auditing import Audit
from bench.soak.churn import Churn
from bench.soak.ledger import Ledger, percentile
from bench.soak.ledger_watch import watches
from bench.soak.pair import Pair
from bench.soak.plan import Plan
from bench.soak.quiescence import Calm
from devcluster import Cluster
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.client import Client

LOOK_SECONDS = 2.0
"""How often logs, the audit log and memory are looked at."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round showed."""

    number: int
    seconds: float
    bound: int
    waits: tuple[float, float]
    """The median of how long pods were without a node, and the longest but one in a hundred."""
    left: dict[str, int]
    """How many pods are bound, waiting and gated at its end."""
    ended: str
    missed_seconds: float | None
    """After how long another led, if the one that was ended led."""
    leader: str
    memory: dict[str, float]
    wrong: list[str]


class Soak:
    """One soak on one cluster."""

    def __init__(self, plan: Plan, cluster: Cluster, audit: Audit) -> None:
        self.plan = plan
        self.rounds: list[Round] = []
        self.was_interrupted = False
        self.audit = audit
        self.pair = Pair(plan, cluster, audit)
        self.done: dict[str, int] = {}
        """What the churn did how often."""
        self._cluster = cluster
        self._ledger = Ledger()
        self._calm = Calm(plan, self._ledger, audit, self.pair)

    async def run(self, tell: Callable[[Round], None]) -> None:
        """Go through all rounds, and tell of each. When cancelled, what was found so far can be asked for."""
        async with self._watched() as churn:
            await churn.prepare()
            await self.pair.start()
            await churn.fill()
            await self._calm.settle(churn)
            for number in range(self.plan.rounds):
                self.rounds.append(await self._round(number, churn))
                self.done = dict(churn.done)
                tell(self.rounds[-1])

    def found(self) -> list[str]:
        """What was found wrong since the last time, each once."""
        kept = [self._calm.wrong, self._ledger.wrong, self.audit.wrong, self.pair.wrong]
        kept += [each.wrong for each in self.pair.both]
        found = list(dict.fromkeys(fault for each in kept for fault in each))
        for each in kept:
            each.clear()
        return found

    @contextlib.asynccontextmanager
    async def _watched(self) -> AsyncIterator[Churn]:
        """While this lasts everything is looked at all the time."""
        server = Server.of(self._cluster.kubeconfig)
        admin = credentials.load(str(self._cluster.kubeconfig))
        async with Client(admin, "soak") as client, asyncio.TaskGroup() as group:
            endless = [group.create_task(each.follow(server)) for each in watches(self._ledger)]
            endless.append(group.create_task(self._look()))
            try:
                yield Churn(client, self._ledger, self.plan)
            finally:
                for task in endless:
                    task.cancel()

    async def _look(self) -> None:
        while True:
            self.audit.read()
            self.pair.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def _round(self, number: int, churn: Churn) -> Round:
        began, bound_before = time.monotonic(), self._ledger.bound
        self._ledger.waits.clear()
        async with churn.going_on():
            await self.pair.change(number)
            ended, missed = await self.pair.end_one(number)
            await asyncio.sleep(max(0.0, began + self.plan.churn_seconds - time.monotonic()))
            await self.pair.change_back()
        await self._calm.settle(churn)
        await self._calm.judge()
        self.pair.look()
        return Round(
            number=number,
            seconds=time.monotonic() - began,
            bound=self._ledger.bound - bound_before,
            waits=(percentile(self._ledger.waits, 0.5), percentile(self._ledger.waits, 0.99)),
            left=dict(self._ledger.counts()),
            ended=ended,
            missed_seconds=missed,
            leader=self.pair.leader.name,
            memory={each.life.name: each.life.memory[-1][1] for each in self.pair.both},
            wrong=self.found(),
        )
