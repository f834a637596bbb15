"""What the kernel knows of a process, for comparing it with what the process says of itself."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from bench.cluster.process_stats import cpu_seconds
from devcluster.system.processes import stat_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A process at one moment."""

    cpu_seconds: float
    resident_bytes: float
    virtual_bytes: float
    files: int
    most_files: int
    threads: int
    age_seconds: float
    started_at: float


def seen(pid: int) -> Seen:
    """Look at a process. Raises FileNotFoundError or ProcessLookupError when it has ended."""
    of = Path(f"/proc/{pid}")
    page = os.sysconf("SC_PAGE_SIZE")
    virtual, resident = (int(pages) * page for pages in (of / "statm").read_text().split()[:2])
    limit = next(line for line in (of / "limits").read_text().splitlines() if line.startswith("Max open files"))
    stat = stat_fields(pid)
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(stat[19]) / os.sysconf("SC_CLK_TCK")
    return Seen(
        cpu_seconds=cpu_seconds(pid),
        resident_bytes=resident,
        virtual_bytes=virtual,
        files=len(os.listdir(of / "fd")),
        most_files=int(limit.split()[3]),
        threads=int(stat[17]),
        age_seconds=age,
        started_at=time.time() - age,
    )
