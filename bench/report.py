"""Runs as a table: for the terminal and for docs/performance.md alike."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench.contenders import BERTH, CONTENDERS, KUBE_SCHEDULER, LIMIT
from bench.running import BENCH, Run

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


def tables(runs: Sequence[Run]) -> str:
    """What was measured, and the ratios, as two tables."""
    return f"{_markdown([COLUMNS, *_rows(runs)])}\n\n{_markdown([RATIOS, *_ratios(runs)])}\n"


def faults(runs: Iterable[Run]) -> list[str]:
    """What was wrong with placements, with where it was."""
    return [f"{run.workload}, {run.contender}, run {run.repetition}: {fault}" for run in runs for fault in run.faults]


def write_into(page: Path, runs: Sequence[Run], kubernetes: str, when: str) -> None:
    """Put the tables between the two marks of the page. Raises ValueError when it has none."""
    text = page.read_text()
    head, began, rest = text.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    if not (began and ended):
        raise ValueError(f"{page} has no '{BEGIN}' … '{END}' to write between: put them where the tables belong")
    page.write_text(f"{head}{BEGIN}\n{_setting(runs, kubernetes, when)}\n\n{tables(runs)}{END}{tail}")


def _setting(runs: Sequence[Run], kubernetes: str, when: str) -> str:
    repetitions = max(run.repetition for run in runs)
    return (
        f"Measured on {when}: Kubernetes {kubernetes}, {_processor()}, Python {platform.python_version()}, "
        f"{repetitions} {'repetition' if repetitions == 1 else 'repetitions'} of each."
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(models)} × {models[0]}" if models else platform.machine()


def _rows(runs: Sequence[Run]) -> Iterable[tuple[str, ...]]:
    for workload in _in_order(run.workload for run in runs):
        for contender in CONTENDERS:
            mine = [run for run in runs if (run.workload, run.contender) == (workload, contender)]
            if not mine:
                continue
            yield (
                workload,
                contender,
                _spread([run.rate for run in mine]),
                _spread([run.wall_rate for run in mine]),
                *(_middle(mine, _cpu_of(name)) for name in ("scheduler", "kube-apiserver", "etcd", BENCH)),
                _middle(mine, lambda run: run.peak_megabytes),
                _middle(mine, lambda run: run.events),
            )


def _ratios(runs: Sequence[Run]) -> Iterable[tuple[str, ...]]:
    """Ours to each of the others, run by run: those of one repetition met the same machine."""
    rates = {(run.workload, run.contender, run.repetition): run.rate for run in runs}
    for workload in _in_order(run.workload for run in runs):
        found = []
        for other in (KUBE_SCHEDULER.name, LIMIT.name):
            pairs = [
                rate / rates[workload, other, repetition]
                for (of, contender, repetition), rate in rates.items()
                if (of, contender) == (workload, BERTH.name) and (workload, other, repetition) in rates
            ]
            found.append(_spread(pairs, "{:.2f}"))
        yield (workload, *found)


def _cpu_of(name: str) -> Callable[[Run], float]:
    return lambda run: run.cpu[name]


def _middle(runs: Sequence[Run], value: Callable[[Run], float]) -> str:
    return f"{statistics.median(map(value, runs)):.0f}"


def _spread(values: Sequence[float], form: str = "{:.0f}") -> str:
    """The median, and the least and the greatest."""
    if not values:
        return "-"
    middle, least, most = (form.format(each) for each in (statistics.median(values), min(values), max(values)))
    return middle if len(values) == 1 else f"{middle} ({least}–{most})"


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _markdown(table: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    rule = " | ".join("-" * width for width in widths)
    return "\n".join(f"| {line} |" for line in (lines[0], rule, *lines[1:]))
