"""The CPU of kube-scheduler and ours for objects with long lists: ``python -m bench.cost [SHAPE ...]``.

Prints milliseconds of CPU of both and their ratio, for lists of two sizes. Ends with 1 when ours takes more than three
times as much as kube-scheduler, or grows faster. Each sample is a line of a file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.cost.beside import CostCase, cases, measure
from bench.cost.judgement import Costs, Noise, costs, faults
from bench.cost.shapes import SHAPES
from bench.side_by_side.run import build

FILE = Path("dist/cost.jsonl")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(prog="python -m bench.cost", description=__doc__.partition("\n")[0])
    parser.add_argument("shape", nargs="*", choices=[[], *SHAPES], help="all by default")
    parser.add_argument("--entries", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--kubernetes", default="1.36")
    parser.add_argument("--file", type=Path, default=FILE, help=f"where the samples go ({FILE})")
    options = parser.parse_args(arguments)
    build(options.kubernetes)
    all_cases = list(cases(options.shape or SHAPES, sorted(options.entries)))
    options.file.parent.mkdir(parents=True, exist_ok=True)
    with options.file.open("w", buffering=1) as file:

        def record(contender: str, case: CostCase, milliseconds: float) -> None:
            file.write(json.dumps({"contender": contender, **asdict(case), "milliseconds": milliseconds}) + "\n")

        theirs, ours = asyncio.run(measure(all_cases, options.kubernetes, options.nodes, options.repetitions, record))
    judged, *noises = costs(theirs, ours)
    print(*table(judged), *map(described, ("kube-scheduler", "berth"), noises), sep="\n")
    sentences = faults(judged)
    print(*sentences, sep="\n")
    return 1 if sentences else 0


def table(rows: Sequence[Costs]) -> list[str]:
    """A line for each case: milliseconds of CPU, and in brackets what an ordinary object does not cost."""
    lines = [f"{'milliseconds of CPU (of the list alone)':>52} {'kube-scheduler':>16} {'berth':>16} ratio"]
    for row in rows:
        case, theirs, ours = row.case, row.theirs, row.ours
        lines.append(
            f"{case.shape:>24} {case.way:>9} {case.entries:>6} entries {theirs.least:>9.1f} ({theirs.list_cost:>6.1f})"
            f" {ours.least:>8.1f} ({ours.list_cost:>6.1f}) {row.ratio:>5.1f}  {case.list.title}"
        )
    return lines


def described(contender: str, noise: Noise) -> str:
    """The noise of a contender in this run."""
    return f"noise of {contender}: {noise.milliseconds:.1f} ms, and {noise.share:.0%} of the cost"


if __name__ == "__main__":
    sys.exit(main())
