"""Hostile tenants: ``python -m bench.hostile_tenants``, or ``make hostile``.

On a cluster with the chart, honest pods come at a steady rate, for a profile of Berth's. First they have the cluster
for themselves; then every attack of ``attacks`` begins at once. Then the same for kube-scheduler, on another cluster:
both at once would take each other's CPU. Prints how long honest pods waited, restarts and memory, and fails when
hostile tenants harmed those of Berth.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from bench.hostile_tenants import attacks
from bench.hostile_tenants.attacks import Outcomes, Target
from bench.hostile_tenants.honest_load import HonestLoad, Waits, percentile
from bench.hostile_tenants.scene import HONEST, KUBE_SCHEDULER, PROFILE, Scene, hostile_cluster
from devcluster import DevclusterError
from devcluster.build.progress import progress_on

LONGEST_RATIO = 2.0
"""How many times longer the 99th percentile may be under attack."""
LEAST_SECONDS = 0.05
"""Below this, a wait is too short to compare: it is that of the machine."""
MOST_MEGABYTES = 200.0
"""How much more memory a process may take under attack."""
WARM_UP_SECONDS = 15.0
SAMPLE_SECONDS = 1.0
RESULTS = Path("dist") / "hostile-tenants.json"


@dataclass(frozen=True, slots=True)
class Phase:
    """What was seen while the attacks ran, or did not."""

    waits: Waits
    peaks: dict[str, float]
    """Megabytes by program."""

    def describe(self) -> str:
        """One line for people."""
        waits = self.waits
        memory = ", ".join(f"{name} {peak:.0f} MB" for name, peak in sorted(self.peaks.items()))
        return (
            f"{len(waits.seconds)} pods, p50 {waits.percentile(50):.3f} s, p99 {waits.percentile(99):.3f} s, "
            f"longest {waits.percentile(100):.3f} s, {waits.unbound} without a node; of that until the API server had "
            f"the pod: p50 {percentile(waits.answers, 50):.3f} s, p99 {percentile(waits.answers, 99):.3f} s; {memory}"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both phases of one scheduler."""

    scheduler: str
    quiet: Phase
    hostile: Phase
    harm: list[str]
    """Broken attacks, restarts and replaced pods; limits are judged by ``compare``."""

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
    flags.add_argument("--attacks", nargs="+", choices=[attack.__name__ for attack in attacks.ATTACKS], default=None)
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

    outcomes, before = Outcomes(), scene.restarts()
    extender = await asyncio.start_server(attacks.endless_answers, "127.0.0.1", 0)
    target = Target(
        tenant=scene.account("tenant"),
        author=scene.account("author"),
        config_map_writer=scene.account("config-map-writer"),
        kubelet=scene.admin,
        scheduler=scheduler,
        profile=PROFILE,
        endpoints=scene.endpoints(),
        nodes=[node["metadata"]["name"] for node in scene.kubectl.items("nodes", "--selector=type=kwok")[:2]],
        extender=f"http://127.0.0.1:{extender.sockets[0].getsockname()[1]}",
    )
    chosen = [attack for attack in attacks.ATTACKS if options.attacks is None or attack.__name__ in options.attacks]
    running = [asyncio.ensure_future(attack(target, outcomes)) for attack in chosen]
    hostile = await measure(scene, load, options.per_second, options.minutes * 60)
    broken = [task.exception() for task in running if task.done() and not task.cancelled()]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    extender.close()
    print(f"{scheduler}, under attack: {hostile.describe()}", flush=True)
    for name in sorted(outcomes.taken.keys() | outcomes.refused.keys()):
        line = f"  {name}: {outcomes.taken[name]} taken, {outcomes.refused[name]} refused"
        print(line + (f"; the last: {outcomes.last_refusal[name][:300]}" if outcomes.refused[name] else ""))
    harm = [f"an attack could not go on: {error!r}" for error in broken]
    return Comparison(scheduler, quiet, hostile, [*harm, *restarts(before, scene.restarts())])


async def measure(scene: Scene, load: HonestLoad, per_second: float, seconds: float) -> Phase:
    """Run the honest load for so long, and sample the memory of all processes meanwhile."""

    async def sample() -> None:
        while True:
            await asyncio.to_thread(scene.sample_memory)
            await asyncio.sleep(SAMPLE_SECONDS)

    scene.forget_peaks()
    sampling = asyncio.ensure_future(sample())
    try:
        waits = await load.run(per_second, seconds)
    finally:
        sampling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sampling
    return Phase(waits, scene.forget_peaks())


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
        f"{name} took {ours.hostile.peaks[name] - peak:.0f} MB more"
        for name, peak in ours.quiet.peaks.items()
        if name != "kube-scheduler" and ours.hostile.peaks.get(name, 0) - peak > MOST_MEGABYTES
    ]
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
                "peakMegabytes": phase.peaks,
            }
            for name, phase in (("quiet", result.quiet), ("hostile", result.hostile))
        }
        for scheduler, result in results.items()
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**figures, "harm": harm}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
