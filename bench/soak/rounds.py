"""The soak itself: rounds of churn with changed documents and a kill, each followed by a calm with all judgements."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from bench.cluster.client import Server
from bench.soak.auditing import Audit
from bench.soak.churn import PodChurn
from bench.soak.ledger import Ledger, percentile
from bench.soak.ledger_watch import watches
from bench.soak.pair import Pair
from bench.soak.plan import Plan
from bench.soak.quiescence import Calm
from devcluster import Cluster
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.client import Client

LOOK_SECONDS = 2.0
"""The interval between two looks at the logs, the audit log and the memory."""


@dataclass(frozen=True, slots=True)
class Round:
    """The result of one round."""

    number: int
    seconds: float
    bound: int
    waits: tuple[float, float]
    """The seconds that pods were without a node: the median, and the value that 99 % do not exceed."""
    pods: dict[str, int]
    """The numbers of pods that are bound, waiting and gated at its end."""
    ended: str
    missed_seconds: float | None
    """The seconds until another one led, if the leader was ended."""
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
        """The number of changes of each kind by the churn."""
        self._cluster = cluster
        self._ledger = Ledger()
        self._calm = Calm(plan, self._ledger, audit, self.pair)

    async def run(self, tell: Callable[[Round], None]) -> None:
        """Run all rounds and report each to ``tell``. After a cancellation, the results so far are in ``rounds``."""
        async with self._watched() as churn:
            await churn.prepare()
            await self.pair.start()
            await churn.fill()
            await self._calm.settle(churn)
            for number in range(self.plan.rounds):
                self.rounds.append(await self._round(number, churn))
                self.done = dict(churn.done)
                tell(self.rounds[-1])

    def take_faults(self) -> list[str]:
        """Return all new faults, each once, and forget them."""
        sources = [self._calm.wrong, self._ledger.wrong, self.audit.wrong, self.pair.wrong]
        sources += [scheduler.wrong for scheduler in self.pair.both]
        faults = list(dict.fromkeys(fault for source in sources for fault in source))
        for source in sources:
            source.clear()
        return faults

    @contextlib.asynccontextmanager
    async def _watched(self) -> AsyncIterator[PodChurn]:
        """Watch the cluster, the logs and the memory inside this block."""
        server = Server.of(self._cluster.kubeconfig)
        admin = credentials.load(str(self._cluster.kubeconfig))

        async def look() -> None:
            while True:
                self.audit.read()
                self.pair.look()
                await asyncio.sleep(LOOK_SECONDS)

        async with Client(admin, "soak") as client, asyncio.TaskGroup() as group:
            endless = [group.create_task(watch.follow(server)) for watch in watches(self._ledger)]
            endless.append(group.create_task(look()))
            try:
                yield PodChurn(client, self._ledger, self.plan)
            finally:
                for task in endless:
                    task.cancel()

    async def _round(self, number: int, churn: PodChurn) -> Round:
        start, bound_before = time.monotonic(), self._ledger.bound
        self._ledger.waits.clear()
        async with churn.going_on():
            await self.pair.change(number)
            ended, missed = await self.pair.end_one(number)
            await asyncio.sleep(max(0.0, start + self.plan.churn_seconds - time.monotonic()))
            await self.pair.change_back()  # pods of every profile must be schedulable in the calm
        await self._calm.settle(churn)
        await self._calm.judge()
        self.pair.look()
        return Round(
            number=number,
            seconds=time.monotonic() - start,
            bound=self._ledger.bound - bound_before,
            waits=(percentile(self._ledger.waits, 0.5), percentile(self._ledger.waits, 0.99)),
            pods=dict(self._ledger.counts()),
            ended=ended,
            missed_seconds=missed,
            leader=self.pair.leader.name,
            memory={scheduler.life.name: scheduler.life.memory[-1][1] for scheduler in self.pair.both},
            wrong=self.take_faults(),
        )
