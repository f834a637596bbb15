"""The CPU of kube-scheduler and ours for objects with long lists: ``python -m bench.cost [SHAPE ...]``.

Prints milliseconds of CPU of both and their ratio, for lists of two sizes. Ends with 1 when ours takes more than three
times as much as kube-scheduler, or grows faster.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from bench.cost.beside import cases, compare, faults
from bench.cost.shapes import SHAPES
from bench.side_by_side.run import build


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(prog="python -m bench.cost", description=__doc__.partition("\n")[0])
    parser.add_argument("shape", nargs="*", choices=[[], *SHAPES], help="all by default")
    parser.add_argument("--entries", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--kubernetes", default="1.36")
    options = parser.parse_args(arguments)
    build(options.kubernetes)
    all_cases = list(cases(options.shape or SHAPES, sorted(options.entries)))
    costs = asyncio.run(compare(all_cases, options.kubernetes, options.nodes, options.repetitions))
    print(f"{'milliseconds of CPU':>54} {'kube-scheduler':>14} {'berth':>6} ratio")
    for cost in costs:
        case = cost.case
        ratio = cost.ours / max(cost.theirs, 1.0)
        print(
            f"{case.shape:>24} {case.way:>9} {case.entries:>6} entries {cost.theirs:>18.0f} {cost.ours:>9.0f}"
            f" {ratio:>5.1f}  {SHAPES[case.shape].title}"
        )
    sentences = faults(costs)
    print(*sentences, sep="\n")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
