"""Two schedulers under churn and under fire for half an hour: ``python -m bench.soak``, or ``make soak``.

Prints the faults, and returns 1, when a pod was lost, bound twice or put where it may not be, when a scheduler grew,
logged an error or had a wrong metric.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence

import devcluster
from bench.soak import report
from bench.soak.auditing import Audit
from bench.soak.cluster_setup import soak_cluster, spec
from bench.soak.plan import Plan
from bench.soak.rounds import Round, Soak
from devcluster import Cluster, DevclusterError
from devcluster.build.progress import progress_on

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak and report; return 1 if something was wrong, 2 if there could be no soak, 130 if it was interrupted."""
    plan = parse_plan(arguments)
    try:
        devcluster.binaries(*spec(plan).binaries, kubernetes=plan.kubernetes, progress=progress_on(sys.stderr))
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        with soak_cluster(plan) as (cluster, audit):
            soak = asyncio.run(run_soak(plan, cluster, audit))
            print("", *report.table(soak), sep="\n")
    except KeyboardInterrupt:  # before there was a result
        return INTERRUPTED
    faults = report.verdict(soak)
    print("", *(faults or ["Nothing was wrong."]), sep="\n", file=sys.stderr if faults else sys.stdout)
    return 1 if faults else INTERRUPTED if soak.was_interrupted else 0


async def run_soak(plan: Plan, cluster: Cluster, audit: Audit) -> Soak:
    """Run a soak until its end, or until the user interrupts it."""
    soak = Soak(plan, cluster, audit)
    running = asyncio.create_task(soak.run(lambda done: print_round(done, plan)))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    print(f"{plan.rounds} rounds on {plan.nodes} nodes; everything is in {cluster.directory}", flush=True)
    try:
        await running
    except asyncio.CancelledError:
        soak.was_interrupted = True
    return soak


def print_round(done: Round, plan: Plan) -> None:
    print(report.line(done, plan.rounds), flush=True)


def parse_plan(arguments: Sequence[str] | None) -> Plan:
    """Parse the command line."""
    defaults = Plan()
    flags = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    flags.add_argument("--nodes", type=int, default=defaults.nodes)
    flags.add_argument("--minutes", type=float, default=defaults.minutes)
    flags.add_argument("--round-seconds", type=float, default=defaults.round_seconds, help="one kill in each round")
    flags.add_argument("--pods-per-node", type=float, default=defaults.pods_per_node)
    flags.add_argument("--per-second", type=float, default=defaults.per_second, help="pods that are replaced a second")
    flags.add_argument("--lease-seconds", type=int, default=defaults.lease_seconds)
    flags.add_argument("--seed", type=int, default=defaults.seed)
    flags.add_argument("--kubernetes", default=defaults.kubernetes)
    return Plan(**vars(flags.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main())
