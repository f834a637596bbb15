"""Hostile tenants: ``python -m bench.hostile_tenants``, or ``make hostile``.

On a cluster with the chart, two streams of honest pods run beside each other: one for a profile of Berth's, one for
kube-scheduler. First they have the cluster for themselves; then every attack of ``attacks`` begins at once. Prints how
long honest pods waited in both phases, restarts and memory, and fails when hostile tenants did them harm.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from bench.hostile_tenants import attacks
from bench.hostile_tenants.attacks import Outcomes, Target
from bench.hostile_tenants.honest_load import HonestLoad, Waits
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

    waits: dict[str, Waits]
    peaks: dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both phases; return 1 when honest tenants were harmed."""
    flags = argparse.ArgumentParser(prog="python -m bench.hostile_tenants", description=__doc__)
    flags.add_argument("--minutes", type=float, default=10.0, help="how long the attacks last")
    flags.add_argument("--quiet-minutes", type=float, default=2.0, help="how long it is quiet before")
    flags.add_argument("--per-second", type=float, default=50.0, help="honest pods per second and scheduler")
    flags.add_argument("--attacks", nargs="+", choices=[attack.__name__ for attack in attacks.ATTACKS], default=None)
    flags.add_argument("--kubernetes", default="1.36")
    flags.add_argument("--json", type=Path, default=RESULTS)
    options = flags.parse_args(arguments)
    try:
        with hostile_cluster(options.kubernetes, progress_on(sys.stderr)) as scene:
            return uvloop.run(run(scene, options))
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 2


async def run(scene: Scene, options: argparse.Namespace) -> int:
    """Measure a quiet phase and one under attack, and report."""
    loads = {name: HonestLoad(scene.admin, HONEST, name) for name in (PROFILE, KUBE_SCHEDULER)}
    await measure(scene, loads, options.per_second, WARM_UP_SECONDS)
    quiet = await measure(scene, loads, options.per_second, options.quiet_minutes * 60)
    print(f"quiet: {describe(quiet)}", flush=True)

    outcomes, before = Outcomes(), scene.restarts()
    extender = await asyncio.start_server(attacks.endless_answers, "127.0.0.1", 0)
    target = Target(
        tenant=scene.account("tenant"),
        author=scene.account("author"),
        config_map_writer=scene.account("config-map-writer"),
        kubelet=scene.admin,
        schedulers=(PROFILE, KUBE_SCHEDULER),
        profile=PROFILE,
        endpoints=scene.endpoints(),
        extender=f"http://127.0.0.1:{extender.sockets[0].getsockname()[1]}",
    )
    chosen = [attack for attack in attacks.ATTACKS if options.attacks is None or attack.__name__ in options.attacks]
    running = [asyncio.ensure_future(attack(target, outcomes)) for attack in chosen]
    hostile = await measure(scene, loads, options.per_second, options.minutes * 60)
    broken = [task.exception() for task in running if task.done() and not task.cancelled()]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    extender.close()
    print(f"under attack: {describe(hostile)}", flush=True)
    for name in sorted(outcomes.taken.keys() | outcomes.refused.keys()):
        line = f"  {name}: {outcomes.taken[name]} taken, {outcomes.refused[name]} refused"
        print(line + (f"; the last: {outcomes.last_refusal[name][:300]}" if outcomes.refused[name] else ""))

    harm = [f"an attack could not go on: {error!r}" for error in broken]
    harm += [*restarts(before, scene.restarts()), *compare(quiet, hostile)]
    for sentence in harm:
        print(f"HARM: {sentence}")
    write(options.json, quiet, hostile, harm)
    return 1 if harm else 0


async def measure(scene: Scene, loads: dict[str, HonestLoad], per_second: float, seconds: float) -> Phase:
    """Run the honest loads for so long, and sample the memory of all processes meanwhile."""

    async def sample() -> None:
        while True:
            await asyncio.to_thread(scene.sample_memory)
            await asyncio.sleep(SAMPLE_SECONDS)

    scene.forget_peaks()
    sampling = asyncio.ensure_future(sample())
    try:
        waits = await asyncio.gather(*(load.run(per_second, seconds) for load in loads.values()))
    finally:
        sampling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sampling
    return Phase(dict(zip(loads, waits, strict=True)), scene.forget_peaks())


def describe(phase: Phase) -> str:
    """One line for people."""
    waits = "; ".join(
        f"{name}: {len(of.seconds)} pods, p50 {of.percentile(50):.3f} s, p99 {of.percentile(99):.3f} s, "
        f"longest {of.percentile(100):.3f} s, {of.unbound} without a node"
        for name, of in phase.waits.items()
    )
    return f"{waits}; memory: {', '.join(f'{name} {peak:.0f} MB' for name, peak in sorted(phase.peaks.items()))}"


def restarts(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """A sentence for each pod of Berth's that was restarted or replaced."""
    return [
        f"pod {name} was restarted {after[name] - count} times" if name in after else f"pod {name} is gone"
        for name, count in before.items()
        if after.get(name) != count
    ]


def compare(quiet: Phase, hostile: Phase) -> list[str]:
    """A sentence for each limit that the attacks broke; kube-scheduler is shown, not judged."""
    usual, worst = quiet.waits[PROFILE].percentile(99), hostile.waits[PROFILE].percentile(99)
    sentences = []
    if worst > max(LONGEST_RATIO * usual, LEAST_SECONDS):
        theirs = hostile.waits[KUBE_SCHEDULER].percentile(99) / quiet.waits[KUBE_SCHEDULER].percentile(99)
        sentences.append(
            f"99 % of the pods had a node within {worst:.3f} s, {worst / usual:.1f} times as long as in quiet; "
            f"kube-scheduler took {theirs:.1f} times as long"
        )
    sentences += [
        f"{name} took {hostile.peaks[name] - peak:.0f} MB more"
        for name, peak in quiet.peaks.items()
        if name != "kube-scheduler" and hostile.peaks.get(name, 0) - peak > MOST_MEGABYTES
    ]
    return sentences


def write(file: Path, quiet: Phase, hostile: Phase, harm: list[str]) -> None:
    """Write the figures as JSON."""
    phases = {
        name: {
            "p50": {who: waits.percentile(50) for who, waits in phase.waits.items()},
            "p99": {who: waits.percentile(99) for who, waits in phase.waits.items()},
            "longest": {who: waits.percentile(100) for who, waits in phase.waits.items()},
            "unbound": {who: waits.unbound for who, waits in phase.waits.items()},
            "peakMegabytes": phase.peaks,
        }
        for name, phase in (("quiet", quiet), ("hostile", hostile))
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**phases, "harm": harm}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
