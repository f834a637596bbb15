"""A check that a process does not grow while its work stays the same."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

WARM_UP_SECONDS = 240.0
"""The time in which a process may grow after it began to lead, or to stand by: its series of events fill up."""
JUDGED_SECONDS = 180.0
"""The least time for a judgement."""
MOST_GROWN = {"files": 8, "sockets": 130, "threads": 2, "tasks": 8, "series": 60}
"""The allowed growth from the first calm to the last. Two pools hold up to 64 connections each."""
MOST_MEGABYTES = 6.0
"""The allowed growth between the ends of the line through all samples: some is noise."""
MEGABYTES_PER_HOUR = 20.0
"""The allowed growth over a longer time, if it is more."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Open files and the like of a process in a calm."""

    at: float
    files: int
    sockets: int
    threads: int
    tasks: int
    series: int


@dataclass(slots=True)
class Life:
    """One process from its start to its end."""

    name: str
    pid: int
    began: float
    settled: float
    """The moment since which it leads, or stands by."""
    memory: list[tuple[float, float]] = field(default_factory=list)
    """Moments and megabytes."""
    rests: list[Rest] = field(default_factory=list)

    def remember(self, now: float) -> None:
        """Take a sample of its memory."""
        self.memory.append((now, resident_megabytes(self.pid)))

    @property
    def peak(self) -> float:
        return max((megabytes for _, megabytes in self.memory), default=0.0)

    @property
    def warm(self) -> list[tuple[float, float]]:
        """The samples of its memory since it was warm."""
        return [sample for sample in self.memory if sample[0] >= self.settled + WARM_UP_SECONDS]

    @property
    def megabytes_per_hour(self) -> float | None:
        """The rate of growth; None before there are samples over a long enough time."""
        warm = self.warm
        return slope(warm) * 3600 if seconds(warm) >= JUDGED_SECONDS else None

    def faults(self) -> Iterator[str]:
        """The growth that is not allowed, a sentence each."""
        warm = self.warm
        allowed = max(MOST_MEGABYTES, MEGABYTES_PER_HOUR * seconds(warm) / 3600)
        if self.megabytes_per_hour is not None and slope(warm) * seconds(warm) > allowed:
            yield f"{self.name} grew by {slope(warm) * seconds(warm):.0f} MB in {seconds(warm) / 60:.0f} minutes"
        warm_rests = [rest for rest in self.rests if rest.at >= self.settled + WARM_UP_SECONDS]
        for what, most in MOST_GROWN.items():
            counts = [getattr(rest, what) for rest in warm_rests]
            if counts and counts[-1] - counts[0] > most:
                yield f"{self.name} had {counts[0]} {what} and has {counts[-1]}"


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """The slope per second of the line through ``samples``, by least squares."""
    if len(samples) < 2:
        return 0.0
    mean_x, mean_y = (sum(axis) / len(samples) for axis in zip(*samples, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in samples)
    return sum((x - mean_x) * (y - mean_y) for x, y in samples) / spread if spread else 0.0


def seconds(samples: Sequence[tuple[float, float]]) -> float:
    """The time that ``samples`` cover."""
    return samples[-1][0] - samples[0][0] if samples else 0.0


def open_files(pid: int) -> tuple[int, int]:
    """The number of files, pipes and the like that a process has open, and of sockets."""
    kinds = {False: 0, True: 0}
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            kinds[os.readlink(f"/proc/{pid}/fd/{descriptor}").startswith("socket:")] += 1
    return kinds[False], kinds[True]


def resident_megabytes(pid: int) -> float:
    """The resident memory of a process. Raises FileNotFoundError or ProcessLookupError when the process has ended."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
