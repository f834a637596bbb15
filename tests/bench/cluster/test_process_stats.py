"""What the kernel knows of a process is what the process finds out itself."""

from __future__ import annotations

import os
import resource
import threading
import time

import pytest

from bench.cluster.process_stats import process_state
from scheduler_runtime.scheduling.metrics.process_metrics import process_metrics


def test_a_process_is_seen_as_it_sees_itself() -> None:
    itself = {metric.name: number for metric in process_metrics() for _, _, number in metric.samples()}
    found = process_state(os.getpid())
    assert found.cpu_seconds == pytest.approx(itself["process_cpu_seconds_total"], abs=0.1)
    assert found.resident_bytes == pytest.approx(itself["process_resident_memory_bytes"], rel=0.1)
    assert found.virtual_bytes == pytest.approx(itself["process_virtual_memory_bytes"], rel=0.1)
    assert found.files == pytest.approx(itself["process_open_fds"], abs=2)
    assert found.most_files == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert found.threads >= threading.active_count()
    assert found.age_seconds > 0
    assert found.started_at < time.time()


def test_a_process_that_has_ended_is_not_seen() -> None:
    with pytest.raises((FileNotFoundError, ProcessLookupError)):
        process_state(2**22 + 1)
