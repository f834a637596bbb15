"""Side by side with kube-scheduler: ``python -m bench [CASE[/SIZE] …]``, or ``make bench``.

Runs workloads through kube-scheduler, through ours, and through a loader that shows what the API server allows; each
run on an etcd and an API server of its own. Prints a table, writes what it shows and every run as JSON, and says what
was wrong with the placements, if anything was.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import workloads
from bench.side_by_side import report
from bench.side_by_side.run import Run, build, run
from bench.side_by_side.schedulers import CONTENDERS, Contender
from bench.side_by_side.summary import Summary, summed_up
from bench.workloads import Workload, WorkloadError
from devcluster import DevclusterError

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
RESULTS = Path("dist") / "bench.json"

Turn = tuple[int, Workload, Contender]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; return 1 when a placement was wrong or a run did not end, 2 when the question was wrong."""
    asked = parsed(arguments)
    label = "full" if asked.full else asked.label
    try:
        chosen = workloads.select(workloads.load(), label=label, cases=asked.cases, nodes=asked.nodes)
        build(asked.kubernetes)
    except (WorkloadError, DevclusterError) as error:
        print(error, file=sys.stderr)
        return 2
    turns = list(order(chosen, [CONTENDERS[name] for name in asked.contenders], asked.repetitions))
    summary, unfinished = measured(turns, asked.kubernetes, asked.json)
    wrong: list[str] = []
    if summary:
        wrong = report.faults(summary.runs)
        print(f"\n{report.tables(summary)}\nThe same with every run: {asked.json}")
        if asked.document:
            report.write_into(PAGE, summary)
    for what, which in (("Pods are where they may not be", wrong), ("Runs that did not come to their end", unfinished)):
        if which:
            print(f"\n{what}:", *which, sep="\n", file=sys.stderr)
    return 1 if wrong or unfinished else 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for."""
    flags = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    flags.add_argument("cases", nargs="*", help="SchedulingBasic, or SchedulingBasic/5000Nodes; all if none is named")
    flags.add_argument("--nodes", type=int, nargs="+", default=[], help="only workloads of so many nodes")
    flags.add_argument("--label", default="default", help="only workloads with this label: default, full, smoke, ''")
    flags.add_argument(
        "--full", action="store_true", help="everything at 1,000 and 5,000 nodes, and one at 15,000, five times"
    )
    flags.add_argument("--repetitions", type=int, help="how often each (3; 5 with --full)")
    flags.add_argument("--contenders", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    flags.add_argument("--kubernetes", default="1.36", help="of the API server and kube-scheduler")
    flags.add_argument("--json", type=Path, default=RESULTS, help="where the medians and every run are written")
    flags.add_argument("--document", action="store_true", help="write the tables into docs/performance.md")
    asked = flags.parse_args(arguments)
    asked.repetitions = asked.repetitions or (5 if asked.full else 3)
    return asked


def order(chosen: Sequence[Workload], contenders: Sequence[Contender], repetitions: int) -> Iterator[Turn]:
    """Who runs what, when: each workload by all before the next, and each time another of them first."""
    for repetition, (place, workload) in itertools.product(range(repetitions), enumerate(chosen)):
        first = (repetition + place) % len(contenders)
        for contender in (*contenders[first:], *contenders[:first]):
            yield repetition + 1, workload, contender


def measured(turns: Sequence[Turn], kubernetes: str, file: Path) -> tuple[Summary | None, list[str]]:
    """Take every turn; return what was measured if anything was, and why not where that failed.

    What was measured is on disk after each turn. A failure is no reason to lose hours of others.
    """
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    summary: Summary | None = None
    runs: list[Run] = []
    unfinished: list[str] = []
    began = time.monotonic()
    file.parent.mkdir(parents=True, exist_ok=True)
    for done, (repetition, workload, contender) in enumerate(turns, 1):
        try:
            runs.append(run(workload, contender, repetition, kubernetes))
            said = f"{runs[-1].rate:.0f} pods/s"
            summary = summed_up(runs, kubernetes, date)
            summary.write(file)
        except (DevclusterError, ExceptionGroup, OSError, RuntimeError) as error:
            said = f"did not end: {'; '.join(map(str, causes(error)))}"
            unfinished.append(f"{workload.name}, {contender.name}, run {repetition}: {said}")
        spent = time.monotonic() - began
        left = spent / done * (len(turns) - done)
        print(
            f"{done}/{len(turns)} {workload.name} {contender.name}: {said} "
            f"({spent / 60:.0f} min, {left / 60:.0f} more)",
            flush=True,
        )
    return summary, unfinished


def causes(error: Exception) -> Iterator[Exception]:
    """What a failure consists of."""
    if isinstance(error, ExceptionGroup):
        for each in error.exceptions:
            yield from causes(each)
    else:
        yield error


if __name__ == "__main__":
    sys.exit(main())
