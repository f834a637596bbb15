"""The calm after the churn: everything comes to rest, and then every number must be true."""

from __future__ import annotations

from bench.soak.auditing import Audit
from bench.soak.churn import PodChurn
from bench.soak.ledger import Ledger, names
from bench.soak.metrics import Truth, doubts, doubts_about_resources
from bench.soak.pair import Pair, until
from bench.soak.plan import Plan
from bench.soak.schedulers import Scheduler

AGREE_SECONDS = 60.0
"""The time in which a scheduler must learn of the last change and count it, on any machine."""
UNASKED = f"/debug/cache?compare and /metrics were not both answered after {AGREE_SECONDS:.0f} s"


class Calm:
    """Judges the cluster and the schedulers after the churn."""

    def __init__(self, plan: Plan, ledger: Ledger, audit: Audit, pair: Pair) -> None:
        self.wrong: list[str] = []
        self._plan = plan
        self._ledger = ledger
        self._audit = audit
        self._pair = pair

    async def settle(self, churn: PodChurn) -> None:
        """Wait until every pod that fits has a node, and the others have a reason in their status."""
        await churn.tidy()
        seconds = self._plan.bound_seconds

        async def none_is_lost() -> bool:
            return not self._ledger.lost()

        async def all_are_explained() -> bool:
            return not self._ledger.unexplained()

        if not await until(none_is_lost, seconds):
            self.wrong.append(f"still without a node {seconds:.0f} s later, and fit: {names(self._ledger.lost())}")
        elif not await until(all_are_explained, seconds):
            self.wrong.append(
                f"without a reason in their status {seconds:.0f} s later: {names(self._ledger.unexplained())}"
            )

    async def judge(self) -> None:
        """Compare the figures of each scheduler with those of the API server, and note its open files and the like."""
        for scheduler in self._pair.both:
            lasting = await self._lasting_doubts(scheduler)
            self.wrong += [f"{scheduler.life.name}: {doubt}" for doubt in lasting]
            if UNASKED not in lasting:
                await scheduler.rest()

    async def _lasting_doubts(self, scheduler: Scheduler) -> list[str]:
        """The doubts that remain after AGREE_SECONDS. A scheduler that does not answer is in doubt too."""
        result: list[str] = []

        async def agrees() -> bool:
            result[:] = [UNASKED]  # earlier doubts are void, and the next line may raise
            result[:] = await self._doubts(scheduler)
            return not result

        await until(agrees, AGREE_SECONDS)
        return result

    async def _doubts(self, scheduler: Scheduler) -> list[str]:
        """Differences between the scheduler's metrics and cache and the figures of the API server and the kernel."""
        # The state of the process is taken before and after: what the metrics say of it must lie between the two.
        differs, before = await scheduler.differences(), scheduler.state()
        scrape, after = await scheduler.scrape(), scheduler.state()
        resources = await scheduler.resources()
        self._audit.read()
        sent = self._audit.sent(scheduler.name).since(scheduler.before)
        counts = self._ledger.counts()
        truth = Truth(
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
        result = doubts(scrape, truth, scheduler.last) + list(doubts_about_resources(resources, truth))
        return result + [f"/debug/cache says {kind}: {names_of_kind}" for kind, names_of_kind in differs.items()]
