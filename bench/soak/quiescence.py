"""The calm after the churn: everything comes to rest, and then every number must be true."""

from __future__ import annotations

from bench.soak.auditing import Audit
from bench.soak.churn import Churn
from bench.soak.ledger import Ledger, names
from bench.soak.metrics import Truth, doubts, doubts_about_resources
from bench.soak.pair import Pair
from bench.soak.plan import Plan
from bench.soak.proc_stats import Seen
from bench.soak.schedulers import Scheduler
from bench.soak.wait import until

AGREE_SECONDS = 60.0
"""How long after the last change a scheduler may take to know of it and to count it, on whatever machine."""
UNASKED = f"/debug/cache?compare and /metrics were not both answered after {AGREE_SECONDS:.0f} s"


class Calm:
    """Judges what the churn has left."""

    def __init__(self, plan: Plan, ledger: Ledger, audit: Audit, pair: Pair) -> None:
        self.wrong: list[str] = []
        self._plan = plan
        self._ledger = ledger
        self._audit = audit
        self._pair = pair

    async def settle(self, churn: Churn) -> None:
        """Wait until every pod that fits has a node, and the others were told why not."""
        await churn.tidy()
        seconds = self._plan.bound_seconds
        if not await until(self._none_is_lost, seconds):
            self.wrong.append(f"still without a node {seconds:.0f} s later, and fit: {names(self._ledger.lost())}")
        elif not await until(self._all_are_told, seconds):
            self.wrong.append(f"not told {seconds:.0f} s later why they wait: {names(self._ledger.untold())}")

    async def judge(self) -> None:
        """Compare what each scheduler says with what the API server shows, and note what it has open."""
        for scheduler in self._pair.both:
            doubts_left = await self._doubts_left(scheduler)
            self.wrong += [f"{scheduler.life.name}: {doubt}" for doubt in doubts_left]
            if UNASKED not in doubts_left:
                await scheduler.rest()

    async def _doubts_left(self, scheduler: Scheduler) -> list[str]:
        """What is doubtful still when there was time enough. Who cannot be asked is not thereby beyond doubt."""
        found: list[str] = []

        async def agrees() -> bool:
            found[:] = [UNASKED]  # what was found before holds no more, and it may be that nothing can be now
            found[:] = await self._doubts(scheduler)
            return not found

        await until(agrees, AGREE_SECONDS)
        return found

    async def _none_is_lost(self) -> bool:
        return not self._ledger.lost()

    async def _all_are_told(self) -> bool:
        return not self._ledger.untold()

    async def _doubts(self, scheduler: Scheduler) -> list[str]:
        """Where the scheduler's metrics and its cache are other than what the API server and the kernel show."""
        differs, before = await scheduler.differences(), scheduler.seen()
        scrape, after = await scheduler.scrape(), scheduler.seen()
        resources = await scheduler.resources()
        truth = self._truth(scheduler, before, after)
        found = doubts(scrape, truth, scheduler.last) + list(doubts_about_resources(resources, truth))
        return found + [f"/debug/cache says {what}: {which}" for what, which in differs.items()]

    def _truth(self, scheduler: Scheduler, before: Seen, after: Seen) -> Truth:
        self._audit.read()
        sent = self._audit.sent(scheduler.name).since(scheduler.before)
        counts = self._ledger.counts()
        return Truth(
            nodes=len(self._ledger.nodes),
            bound=counts["bound"],
            waiting=counts["waiting"],
            gated=counts["gated"],
            bound_by_it=sent.bound,
            bound_perhaps=sent.unknown,
            refused=sent.refused,
            evicted=sent.evicted,
            answers=sent.by_method,
            refusals=scheduler.refusals,
            asks=self._ledger.asks(),
            before=before,
            after=after,
            leads=scheduler is self._pair.leader,
        )
