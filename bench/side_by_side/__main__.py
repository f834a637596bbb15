"""Side by side with kube-scheduler: ``python -m bench [CASE[/SIZE] …]``, or ``make bench``.

Runs workloads through kube-scheduler, through ours, and through a loader that shows what the API server allows; each
run on an etcd and an API server of its own. Prints a table, writes its figures and every run as JSON, and reports
wrong placements.
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
from bench.side_by_side.summary import Summary, summarize
from bench.workloads import Workload, WorkloadError
from devcluster import DevclusterError

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
RESULTS = Path("dist") / "bench.json"

Turn = tuple[int, Workload, Contender]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; return 1 when a placement was wrong or a run did not end, 2 for a wrong command line."""
    options = parse_options(arguments)
    label = "full" if options.full else options.label
    try:
        selected = workloads.select(workloads.load(), label=label, cases=options.cases, nodes=options.nodes)
        build(options.kubernetes)
    except (WorkloadError, DevclusterError) as error:
        print(error, file=sys.stderr)
        return 2
    turns = list(order(selected, [CONTENDERS[name] for name in options.contenders], options.repetitions))
    summary, unfinished = measure(turns, options.kubernetes, options.json)
    wrong: list[str] = []
    if summary:
        wrong = report.faults(summary.runs)
        print(f"\n{report.tables(summary)}\nThe same with every run: {options.json}")
        if options.document:
            report.write_into(PAGE, summary)
    for what, which in (("Pods are where they may not be", wrong), ("Runs that did not come to their end", unfinished)):
        if which:
            print(f"\n{what}:", *which, sep="\n", file=sys.stderr)
    return 1 if wrong or unfinished else 0


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
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
    options = flags.parse_args(arguments)
    options.repetitions = options.repetitions or (5 if options.full else 3)
    return options


def order(selected: Sequence[Workload], contenders: Sequence[Contender], repetitions: int) -> Iterator[Turn]:
    """The runs in their order: each workload through all contenders before the next, each time another one first."""
    for repetition, (place, workload) in itertools.product(range(repetitions), enumerate(selected)):
        # Rotated, so that no contender gains from always running first or last.
        first = (repetition + place) % len(contenders)
        for contender in (*contenders[first:], *contenders[:first]):
            yield repetition + 1, workload, contender


def measure(turns: Sequence[Turn], kubernetes: str, file: Path) -> tuple[Summary | None, list[str]]:
    """Run every turn; return the summary if any run succeeded, and a line for each run that failed.

    The summary is on disk after each turn, and a failed run does not end the others: a bench takes hours.
    """
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    summary: Summary | None = None
    runs: list[Run] = []
    unfinished: list[str] = []
    start = time.monotonic()
    file.parent.mkdir(parents=True, exist_ok=True)
    for number, (repetition, workload, contender) in enumerate(turns, 1):
        try:
            runs.append(run(workload, contender, repetition, kubernetes))
            outcome = f"{runs[-1].rate:.0f} pods/s"
            summary = summarize(runs, kubernetes, date)
            summary.write(file)
        except (DevclusterError, ExceptionGroup, OSError, RuntimeError) as error:
            outcome = f"did not end: {'; '.join(map(str, causes(error)))}"
            unfinished.append(f"{workload.name}, {contender.name}, run {repetition}: {outcome}")
        spent = time.monotonic() - start
        remaining = spent / number * (len(turns) - number)
        print(
            f"{number}/{len(turns)} {workload.name} {contender.name}: {outcome} "
            f"({spent / 60:.0f} min, {remaining / 60:.0f} more)",
            flush=True,
        )
    return summary, unfinished


def causes(error: Exception) -> Iterator[Exception]:
    """The exceptions inside ``error``, groups resolved."""
    if isinstance(error, ExceptionGroup):
        for inner in error.exceptions:
            yield from causes(inner)
    else:
        yield error


if __name__ == "__main__":
    sys.exit(main())
