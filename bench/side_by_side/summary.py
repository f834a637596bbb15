"""The summary of all runs: the figures of the tables and of ``dist/bench.json``."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.side_by_side.run import Run
from bench.side_by_side.schedulers import BERTH, CONTENDERS, KUBE_SCHEDULER, LIMIT


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of the bench."""

    processor: str
    count: int

    @classmethod
    def this(cls) -> Machine:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        count = sum(line.startswith("processor") for line in lines)
        return cls(models[0] if models else platform.machine(), count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The figures of one contender with one workload."""

    workload: str
    contender: str
    runs: int
    rate: Spread
    """Pods per second."""
    wall_rate: Spread
    """The same over the whole time."""
    cpu: Mapping[str, Spread]
    """Microseconds per pod, by the process."""
    peak_megabytes: Spread
    events: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The rate of a contender divided by that of another."""

    workload: str
    contender: str
    to: str
    pairs: int
    rate: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Everything about some runs."""

    date: str
    kubernetes: str
    python: str
    machine: Machine
    repetitions: int
    results: Sequence[Result]
    ratios: Sequence[Ratio]
    runs: Sequence[Run]

    def write(self, file: Path) -> None:
        """Write it as JSON."""
        file.write_bytes(msgspec.json.format(msgspec.json.encode(self)))


def summarize(runs: Sequence[Run], kubernetes: str, date: str) -> Summary:
    """Sum ``runs`` up, of which there is one at least."""
    return Summary(
        date=date,
        kubernetes=kubernetes,
        python=platform.python_version(),
        machine=Machine.this(),
        repetitions=max(run.repetition for run in runs),
        results=list(_results(runs)),
        ratios=list(_ratios(runs)),
        runs=runs,
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Each name once."""
    return list(dict.fromkeys(names))


def _results(runs: Sequence[Run]) -> Iterator[Result]:
    for workload in in_order(run.workload for run in runs):
        for contender in CONTENDERS:
            mine = [run for run in runs if (run.workload, run.contender) == (workload, contender)]
            if mine:
                yield Result(
                    workload=workload,
                    contender=contender,
                    runs=len(mine),
                    rate=Spread.of([run.rate for run in mine]),
                    wall_rate=Spread.of([run.wall_rate for run in mine]),
                    cpu={name: Spread.of([run.cpu[name] for run in mine]) for name in mine[0].cpu},
                    peak_megabytes=Spread.of([run.peak_megabytes for run in mine]),
                    events=Spread.of([run.events for run in mine]),
                )


def _ratios(runs: Sequence[Run]) -> Iterator[Ratio]:
    """Ours to each of the others, run by run: those of one repetition met the same machine."""
    rates = {(run.workload, run.contender, run.repetition): run.rate for run in runs}
    for workload in in_order(run.workload for run in runs):
        for other in (KUBE_SCHEDULER.name, LIMIT.name):
            pairs = [
                rate / rates[workload, other, repetition]
                for (of, contender, repetition), rate in rates.items()
                if (of, contender) == (workload, BERTH.name) and (workload, other, repetition) in rates
            ]
            if pairs:
                rate = Spread.of(pairs)
                yield Ratio(workload=workload, contender=BERTH.name, to=other, pairs=len(pairs), rate=rate)
