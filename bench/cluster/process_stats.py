"""The CPU time, memory, files and threads of a process, as the kernel counts them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devcluster.system.processes import stat_fields

_OF_A_PROCESS = 2  # the scheduler's own count, of all threads together: CPUCLOCK_SCHED


def cpu_seconds(pid: int) -> float:
    """User and system time of the process, with all the threads it has and had, to the nanosecond.

    This reads the clock of the process: /proc counts in hundredths of a second and rounds either time down, so that
    a short run may seem to use none.
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
    """Seconds of CPU by the name of the process."""

    seconds: Mapping[str, float]

    @classmethod
    def of(cls, pids: Mapping[str, int]) -> Cpu:
        return cls({name: cpu_seconds(pid) for name, pid in pids.items()})

    def since(self, before: Cpu) -> Cpu:
        return Cpu({name: used - before.seconds[name] for name, used in self.seconds.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessState:
    """A process at one moment."""

    cpu_seconds: float
    resident_bytes: float
    virtual_bytes: float
    files: int
    most_files: int
    threads: int
    age_seconds: float
    started_at: float


def process_state(pid: int) -> ProcessState:
    """The state of a process. Raises FileNotFoundError or ProcessLookupError when it has ended."""
    directory = Path(f"/proc/{pid}")
    page = os.sysconf("SC_PAGE_SIZE")
    virtual, resident = (int(pages) * page for pages in (directory / "statm").read_text().split()[:2])
    limit = next(line for line in (directory / "limits").read_text().splitlines() if line.startswith("Max open files"))
    stat = stat_fields(pid)
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(stat[19]) / os.sysconf("SC_CLK_TCK")
    return ProcessState(
        cpu_seconds=cpu_seconds(pid),
        resident_bytes=resident,
        virtual_bytes=virtual,
        files=len(os.listdir(directory / "fd")),
        most_files=int(limit.split()[3]),
        threads=int(stat[17]),
        age_seconds=age,
        started_at=time.time() - age,
    )
