"""Tables of the runs, for the terminal and for docs/performance.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench.side_by_side.run import BENCH, Run
from bench.side_by_side.schedulers import BERTH, KUBE_SCHEDULER, LIMIT
from bench.side_by_side.summary import Spread, Summary, in_order

COLUMNS = (
    "workload",
    "contender",
    "pods/s",
    "pods/s, wall",
    "µs scheduler",
    "µs API server",
    "µs etcd",
    "µs bench",
    "peak MB",
    "events",
)
RATIOS = ("workload", f"{BERTH.name} / {KUBE_SCHEDULER.name}", f"{BERTH.name} / {LIMIT.name}")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def tables(summary: Summary) -> str:
    """The figures and the ratios, as two tables."""
    rates = {(ratio.workload, ratio.to): _whole(ratio.rate, "{:.2f}") for ratio in summary.ratios}
    ratios = [
        (workload, *(rates.get((workload, other), "-") for other in (KUBE_SCHEDULER.name, LIMIT.name)))
        for workload in in_order(run.workload for run in summary.runs)
    ]
    return f"{_markdown([COLUMNS, *_rows(summary)])}\n\n{_markdown([RATIOS, *ratios])}\n"


def faults(runs: Iterable[Run]) -> list[str]:
    """The wrong placements of all runs, each with its run."""
    return [f"{run.workload}, {run.contender}, run {run.repetition}: {fault}" for run in runs for fault in run.faults]


def write_into(page: Path, summary: Summary) -> None:
    """Put the tables between the two marks of the page. Raises ValueError when it has none."""
    text = page.read_text()
    head, began, rest = text.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    if not (began and ended):
        raise ValueError(f"{page} has no '{BEGIN}' … '{END}' to write between: put them where the tables belong")
    machine, repetitions = summary.machine, summary.repetitions
    setting = (
        f"Measured on {summary.date}: Kubernetes {summary.kubernetes}, {machine.count} × {machine.processor}, "
        f"Python {summary.python}, {repetitions} {'repetition' if repetitions == 1 else 'repetitions'} of each."
    )
    page.write_text(f"{head}{BEGIN}\n{setting}\n\n{tables(summary)}{END}{tail}")


def _rows(summary: Summary) -> Iterator[tuple[str, ...]]:
    for result in summary.results:
        processes = ("scheduler", "kube-apiserver", "etcd", BENCH)
        yield (
            result.workload,
            result.contender,
            _whole(result.rate),
            _whole(result.wall_rate),
            *(f"{result.cpu[name].median:.0f}" for name in processes),
            f"{result.peak_megabytes.median:.0f}",
            f"{result.events.median:.0f}",
        )


def _whole(spread: Spread, form: str = "{:.0f}") -> str:
    """The median, and the least and the greatest where they are others."""
    middle, least, most = (form.format(figure) for figure in (spread.median, spread.least, spread.greatest))
    return middle if spread.least == spread.greatest else f"{middle} ({least}–{most})"


def _markdown(table: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    rule = " | ".join("-" * width for width in widths)
    return "\n".join(f"| {line} |" for line in (lines[0], rule, *lines[1:]))
