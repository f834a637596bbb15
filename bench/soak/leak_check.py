"""Whether a process grows while its work stays the same."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

WARM_UP_SECONDS = 240.0
"""How long a process may grow after it began to lead, or to stand by: so long the series of events fill up."""
JUDGED_SECONDS = 180.0
"""Less time than that says nothing."""
MOST_GROWN = {"files": 8, "sockets": 130, "threads": 2, "tasks": 8, "series": 60}
"""How many more there may be in a calm than in the first. Two pools keep up to 64 connections each."""
MOST_MEGABYTES = 6.0
"""How much memory may seem to grow between the ends of the line through all samples: some is noise."""
MEGABYTES_PER_HOUR = 20.0
"""What is allowed over a longer time, if it is more."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What a process has open in a calm."""

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
    """Since when it does what it does: leads, or stands by."""
    memory: list[tuple[float, float]] = field(default_factory=list)
    """Megabytes, by when they were seen."""
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
        return [each for each in self.memory if each[0] >= self.settled + WARM_UP_SECONDS]

    @property
    def megabytes_per_hour(self) -> float | None:
        """How fast it grows; None when it has not been watched for long enough."""
        warm = self.warm
        return slope(warm) * 3600 if seconds(warm) >= JUDGED_SECONDS else None

    def faults(self) -> Iterator[str]:
        """How it has grown and should not have, a sentence each."""
        warm = self.warm
        allowed = max(MOST_MEGABYTES, MEGABYTES_PER_HOUR * seconds(warm) / 3600)
        if self.megabytes_per_hour is not None and slope(warm) * seconds(warm) > allowed:
            yield f"{self.name} grew by {slope(warm) * seconds(warm):.0f} MB in {seconds(warm) / 60:.0f} minutes"
        rests = [each for each in self.rests if each.at >= self.settled + WARM_UP_SECONDS]
        for what, most in MOST_GROWN.items():
            counts = [getattr(each, what) for each in rests]
            if counts and counts[-1] - counts[0] > most:
                yield f"{self.name} had {counts[0]} {what} and has {counts[-1]}"


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """How much the line through ``samples`` rises a second, by least squares."""
    if len(samples) < 2:
        return 0.0
    mean_x, mean_y = (sum(each) / len(samples) for each in zip(*samples, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in samples)
    return sum((x - mean_x) * (y - mean_y) for x, y in samples) / spread if spread else 0.0


def seconds(samples: Sequence[tuple[float, float]]) -> float:
    """The time that ``samples`` cover."""
    return samples[-1][0] - samples[0][0] if samples else 0.0


def opened(pid: int) -> tuple[int, int]:
    """How many files, pipes and the like a process has open, and how many sockets."""
    kinds = {False: 0, True: 0}
    for each in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            kinds[os.readlink(f"/proc/{pid}/fd/{each}").startswith("socket:")] += 1
    return kinds[False], kinds[True]


def resident_megabytes(pid: int) -> float:
    """What is resident of a process now. Raises FileNotFoundError or ProcessLookupError when it has ended."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
