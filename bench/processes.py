"""What a process has used, as the kernel counts it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of the process, with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def peak_megabytes(pid: int) -> float:
    """The most memory that the process has ever had resident, start-up included, in units of 2**20 bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} has no memory: it has ended")


@dataclass(frozen=True, slots=True)
class Cpu:
    """Seconds of CPU by the name of who used them."""

    seconds: Mapping[str, float]

    @classmethod
    def of(cls, pids: Mapping[str, int]) -> Cpu:
        return cls({name: cpu_seconds(pid) for name, pid in pids.items()})

    def since(self, before: Cpu) -> Cpu:
        return Cpu({name: used - before.seconds[name] for name, used in self.seconds.items()})
