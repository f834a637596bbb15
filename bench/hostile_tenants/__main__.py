"""Hostile tenants: ``python -m bench.hostile_tenants``, or ``make hostile``.

On a cluster with the chart, honest pods come at a steady rate, for a profile of Berth's, and an honest author changes
another profile now and then. First they have the cluster for themselves; then every attack of ``attacks`` begins at
once. Then the same for kube-scheduler, on another cluster: both at once would take each other's CPU. Prints how long
honest pods and changes waited, restarts, memory, and what came of each attack. Fails when hostile tenants harmed honest
ones of Berth, or when something was taken that must be refused.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import multiprocessing
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from bench.hostile_tenants import attacks
from bench.hostile_tenants.honest_author import LONGEST_SECONDS, HonestAuthor
from bench.hostile_tenants.honest_load import HonestLoad, Waits, percentile
from bench.hostile_tenants.scene import DECLARED, HONEST, KUBE_SCHEDULER, PROFILE, Scene, hostile_cluster
from bench.hostile_tenants.usage import BERTH, Usage, UsageMeter
from devcluster import DevclusterError
from devcluster.build.progress import progress_on

LONGEST_RATIO = 2.0
"""How many times longer the 99th percentile may be under attack."""
LEAST_SECONDS = 0.05
"""Below this, a wait is too short to compare: it is that of the machine."""
MOST_MEGABYTES = 200.0
"""How much more memory a program may take under attack: all processes of a container together."""
WARM_UP_SECONDS = 15.0
SAMPLE_SECONDS = 1.0
RESULTS = Path("dist") / "hostile-tenants.json"


@dataclass(frozen=True, slots=True)
class Phase:
    """What was seen while the attacks ran, or did not."""

    waits: Waits
    usage: Usage
    changes: list[float] = field(default_factory=list)
    """How long the changes of an honest author waited to be in force."""

    def describe(self) -> str:
        """One line for people."""
        waits = self.waits
        return (
            f"{len(waits.seconds)} pods, p50 {waits.percentile(50):.3f} s, p99 {waits.percentile(99):.3f} s, "
            f"longest {waits.percentile(100):.3f} s, {waits.unbound} without a node; of that until the API server had "
            f"the pod: p50 {percentile(waits.answers, 50):.3f} s, p99 {percentile(waits.answers, 99):.3f} s; "
            f"{len(self.changes)} changes of a profile, p50 {percentile(self.changes, 50):.1f} s, "
            f"longest {percentile(self.changes, 100):.1f} s; {self.usage.describe()}"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both phases of one scheduler."""

    scheduler: str
    quiet: Phase
    hostile: Phase
    harm: list[str]
    """Broken attacks, breaches, restarts and replaced pods; limits are judged by ``compare``."""

    @property
    def ratio(self) -> float:
        """How many times longer the 99th percentile was under attack."""
        return self.hostile.waits.percentile(99) / self.quiet.waits.percentile(99)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both phases for each scheduler; return 1 when honest tenants of Berth were harmed."""
    flags = argparse.ArgumentParser(prog="python -m bench.hostile_tenants", description=__doc__)
    flags.add_argument("--minutes", type=float, default=10.0, help="how long the attacks last")
    flags.add_argument("--quiet-minutes", type=float, default=2.0, help="how long it is quiet before")
    flags.add_argument("--per-second", type=float, default=50.0, help="honest pods per second")
    flags.add_argument("--attacks", nargs="+", choices=attacks.NAMES, default=attacks.NAMES)
    flags.add_argument("--schedulers", nargs="+", choices=[PROFILE, KUBE_SCHEDULER], default=[PROFILE, KUBE_SCHEDULER])
    flags.add_argument("--kubernetes", default="1.36")
    flags.add_argument("--json", type=Path, default=RESULTS)
    options = flags.parse_args(arguments)
    results: dict[str, Comparison] = {}
    try:
        for scheduler in options.schedulers:
            with hostile_cluster(options.kubernetes, progress_on(sys.stderr)) as scene:
                results[scheduler] = uvloop.run(run(scene, scheduler, options))
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 2
    harm = compare(results[PROFILE], results.get(KUBE_SCHEDULER)) if PROFILE in results else []
    for sentence in harm:
        print(f"HARM: {sentence}")
    write(options.json, results, harm)
    return 1 if harm else 0


async def run(scene: Scene, scheduler: str, options: argparse.Namespace) -> Comparison:
    """Measure a quiet phase and one under attack."""
    load = HonestLoad(scene.admin, HONEST, scheduler)
    await measure(scene, load, options.per_second, WARM_UP_SECONDS)
    quiet = await measure(scene, load, options.per_second, options.quiet_minutes * 60)
    print(f"{scheduler}, quiet: {quiet.describe()}", flush=True)

    before, seconds = scene.restarts(), options.minutes * 60
    target = scene.target(scheduler)
    # In a process of their own: what the attackers need of an event loop must not count as a wait of honest pods.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        attacking = asyncio.get_running_loop().run_in_executor(pool, attacks.run, target, options.attacks, seconds)
        hostile = await measure(scene, load, options.per_second, seconds)
        outcomes = await attacking
    print(f"{scheduler}, under attack: {hostile.describe()}", *outcomes.lines(), sep="\n", flush=True)
    harm = [f"an attack could not go on: {error}" for error in outcomes.broken]
    harm += [f"{request}: {happened}" for request, happened in outcomes.breaches.items()]
    harm += scene.leaks()
    return Comparison(scheduler, quiet, hostile, [*harm, *restarts(before, scene.restarts())])


async def measure(scene: Scene, load: HonestLoad, per_second: float, seconds: float) -> Phase:
    """Run the honest load for so long, change a profile now and then, and sample the memory of all processes."""

    meter = UsageMeter(scene.cluster)

    async def sample() -> None:
        while True:
            await asyncio.to_thread(meter.sample)
            await asyncio.sleep(SAMPLE_SECONDS)

    author = HonestAuthor(scene.admin, DECLARED)
    beside = [asyncio.ensure_future(sample()), asyncio.ensure_future(author.run())]
    try:
        waits = await load.run(per_second, seconds)
    finally:
        for task in beside:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
    return Phase(waits, meter.usage(), author.answers)


def restarts(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """A sentence for each pod of Berth's that was restarted or replaced."""
    return [
        f"pod {name} was restarted {after[name] - count} times" if name in after else f"pod {name} is gone"
        for name, count in before.items()
        if after.get(name) != count
    ]


def compare(ours: Comparison, theirs: Comparison | None = None) -> list[str]:
    """A sentence for each harm that the attacks did to ours; kube-scheduler is shown beside it, not judged."""
    sentences = list(ours.harm)
    usual, worst = ours.quiet.waits.percentile(99), ours.hostile.waits.percentile(99)
    if worst > max(LONGEST_RATIO * usual, LEAST_SECONDS):
        beside = f"; for kube-scheduler it was {theirs.ratio:.1f} times as long" if theirs else ""
        sentences.append(f"99 % of the pods had a node within {worst:.3f} s, {ours.ratio:.1f} times the usual{beside}")
    sentences += [
        f"{name} took {more:.0f} MB more"
        for name, peak in ours.quiet.usage.megabytes.items()
        if name in BERTH and (more := ours.hostile.usage.megabytes.get(name, 0) - peak) > MOST_MEGABYTES
    ]
    if late := sum(map(math.isinf, ours.hostile.changes)):
        sentences.append(f"{late} changes of a profile were not in force within {LONGEST_SECONDS:.0f} s")
    return sentences


def write(file: Path, results: Mapping[str, Comparison], harm: list[str]) -> None:
    """Write the figures as JSON."""
    figures = {
        scheduler: {
            name: {
                "p50": phase.waits.percentile(50),
                "p99": phase.waits.percentile(99),
                "longest": phase.waits.percentile(100),
                "unbound": phase.waits.unbound,
                "peakMegabytes": phase.usage.megabytes,
                "cores": phase.usage.cores,
                "changes": {"p50": percentile(phase.changes, 50), "longest": percentile(phase.changes, 100)},
            }
            for name, phase in (("quiet", result.quiet), ("hostile", result.hostile))
        }
        for scheduler, result in results.items()
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**figures, "harm": harm}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
