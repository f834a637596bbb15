"""Preemption in a crowd, beside kube-scheduler: ``python -m bench.crowd``.

Printed are, for both schedulers and each scene of ``bench.crowd.preemption``: the victims, the requests to delete one,
those of them that were answered with an error, the events that tell of victims, the victims by the scheduler's own
metric, and the seconds until all have a node. Ends with 1 if ours does more than is needed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

import devcluster
from bench.crowd.preemption import CrowdScene, Outcome, control_plane, measure
from bench.side_by_side.run import build
from bench.side_by_side.schedulers import BERTH, KUBE_SCHEDULER
from devcluster import DevclusterError

PREEMPTORS_PER_NODE = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; fails if a scheduler of ours evicted more, or asked more often, than kube-scheduler."""
    options = parse_options(arguments)
    try:
        build(options.kubernetes)
        devcluster.binaries("kube-controller-manager", kubernetes=options.kubernetes)
    except DevclusterError as error:
        print(error, file=sys.stderr)
        return 2
    outcomes: list[Outcome] = []
    for count in options.nodes:
        preemptors = options.preemptors or count * PREEMPTORS_PER_NODE
        scenes = [
            CrowdScene(count, preemptors, stay, qps) for stay, qps in itertools.product(options.stay, options.qps)
        ]
        with devcluster.running(control_plane(options.kubernetes)) as cluster:
            for outcome in measure(cluster, scenes, (KUBE_SCHEDULER, BERTH), options.kubernetes):
                if not len(outcomes) % 2:
                    print(outcome.scene.title)
                print(line(outcome), flush=True)
                outcomes.append(outcome)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_bytes(msgspec.json.encode(outcomes))
    pairs = zip(outcomes[::2], outcomes[1::2], strict=True)
    wrong = [fault for theirs, ours in pairs for fault in faults(theirs, ours)]
    print("\n".join(wrong) or "Berth evicts no more pods than kube-scheduler, with one request for each.")
    return 1 if wrong else 0


def line(outcome: Outcome) -> str:
    """An outcome in a line."""
    return (
        f"  {outcome.contender:15}{outcome.evictions:6} evictions {outcome.requests:6} requests "
        f"{outcome.refused:5} refused {outcome.events:6} events {outcome.counted:6} counted {outcome.seconds:8.1f} s"
    )


def faults(theirs: Outcome, ours: Outcome) -> Iterator[str]:
    """The promises that ours does not keep in a scene."""
    if ours.evictions > theirs.evictions:
        yield f"{ours.scene.title}: {ours.evictions} evictions, kube-scheduler {theirs.evictions}"
    for what, many in (("requests", ours.requests), ("events", ours.events), ("counted victims", ours.counted)):
        if many != ours.evictions:
            yield f"{ours.scene.title}: {many} {what} for {ours.evictions} evictions"


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    flags = argparse.ArgumentParser(prog="python -m bench.crowd", description=__doc__)
    flags.add_argument("--nodes", type=int, nargs="+", default=[10, 100])
    flags.add_argument("--preemptors", type=int, help=f"instead of {PREEMPTORS_PER_NODE} for each node")
    flags.add_argument("--stay", type=float, nargs="+", default=[0.0, 20.0], help="seconds in which a victim ends")
    flags.add_argument("--qps", type=int, nargs="+", default=[50, 5000])
    flags.add_argument("--kubernetes", default="1.36")
    flags.add_argument("--json", type=Path, default=Path("dist") / "bench-crowd.json")
    return flags.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
