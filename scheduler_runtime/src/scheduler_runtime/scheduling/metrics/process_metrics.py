"""What every Prometheus client says about its process, read from the kernel when somebody asks."""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading
import time
from functools import partial
from pathlib import Path

from scheduler_runtime.scheduling.metrics.exposition import Gauge

_STARTED_AT = time.time()


def process_metrics() -> list[Gauge]:
    """As they are now."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    sizes = Path("/proc/self/statm").read_text().split() if sys.platform == "linux" else ("0", "0")
    page = os.sysconf("SC_PAGE_SIZE")
    return [
        Gauge(name, text, partial(dict, {(): float(number)}), kind)
        for name, text, number, kind in (
            ("process_cpu_seconds_total", "CPU time used.", usage.ru_utime + usage.ru_stime, "counter"),
            ("process_resident_memory_bytes", "Memory in use.", int(sizes[1]) * page, "gauge"),
            ("process_virtual_memory_bytes", "Addresses in use.", int(sizes[0]) * page, "gauge"),
            ("process_start_time_seconds", "When the process began.", _STARTED_AT, "gauge"),
            ("process_open_fds", "Open files and connections.", _open_files(), "gauge"),
            (
                "process_max_fds",
                "How many of them there may be.",
                resource.getrlimit(resource.RLIMIT_NOFILE)[0],
                "gauge",
            ),
            ("python_threads", "Threads that run Python.", threading.active_count(), "gauge"),
            ("python_gc_objects", "Objects that the next collection looks at.", sum(gc.get_count()), "gauge"),
        )
    ]


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
