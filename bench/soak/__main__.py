"""Two schedulers under churn and under fire for half an hour: ``python -m bench.soak``, or ``make soak``.

Says what was wrong, and returns 1, when a pod was lost, bound twice or put where it may not be, when a scheduler grew,
logged an error or counted what was not so.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence

import devcluster
from bench.soak import report as telling
from bench.soak.auditing import Audit
from bench.soak.cluster_setup import spec, stage
from bench.soak.plan import Plan
from bench.soak.rounds import Round, Soak
from devcluster import Cluster, DevclusterError
from devcluster.build.progress import progress_on

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak and report; return 1 if something was wrong, 2 if there could be no soak, 130 if it was interrupted."""
    plan = parsed(arguments)
    try:
        devcluster.binaries(*spec(plan).binaries, kubernetes=plan.kubernetes, progress=progress_on(sys.stderr))
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        with stage(plan) as (cluster, audit):
            soak = asyncio.run(soaked(plan, cluster, audit))
            print("", *telling.table(soak), sep="\n")
    except KeyboardInterrupt:  # before there was anything to tell
        return INTERRUPTED
    wrong = telling.verdict(soak)
    print("", *(wrong or ["Nothing was wrong."]), sep="\n", file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else INTERRUPTED if soak.was_interrupted else 0


async def soaked(plan: Plan, cluster: Cluster, audit: Audit) -> Soak:
    """A soak that has come to its end, or to that of the user's patience."""
    soak = Soak(plan, cluster, audit)
    running = asyncio.create_task(soak.run(lambda done: tell(done, plan)))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    print(f"{plan.rounds} rounds on {plan.nodes} nodes; everything is in {cluster.directory}", flush=True)
    try:
        await running
    except asyncio.CancelledError:
        soak.was_interrupted = True
    return soak


def tell(done: Round, plan: Plan) -> None:
    print(telling.line(done, plan.rounds), flush=True)


def parsed(arguments: Sequence[str] | None) -> Plan:
    """What was asked for."""
    usual = Plan()
    flags = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    flags.add_argument("--nodes", type=int, default=usual.nodes)
    flags.add_argument("--minutes", type=float, default=usual.minutes)
    flags.add_argument("--round-seconds", type=float, default=usual.round_seconds, help="one kill in each round")
    flags.add_argument("--pods-per-node", type=float, default=usual.pods_per_node)
    flags.add_argument("--per-second", type=float, default=usual.per_second, help="pods that are replaced a second")
    flags.add_argument("--lease-seconds", type=int, default=usual.lease_seconds)
    flags.add_argument("--seed", type=int, default=usual.seed)
    flags.add_argument("--kubernetes", default=usual.kubernetes)
    return Plan(**vars(flags.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main())
