"""What a process has used, as the kernel counts it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_OF_A_PROCESS = 2  # the scheduler's own count, of all threads together: CPUCLOCK_SCHED


def cpu_seconds(pid: int) -> float:
    """User and system time of the process, with all the threads it has and had, to the nanosecond.

    Its clock is asked: /proc counts in hundredths of a second and rounds either time down, so that a short run may
    seem to have used none.
    """
    try:
        return time.clock_gettime(~pid << 3 | _OF_A_PROCESS)  # as clock_getcpuclockid(3) names that clock
    except OSError:
        raise ProcessLookupError(f"process {pid} has no clock: it has ended") from None


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
