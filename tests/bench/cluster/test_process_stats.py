"""The kernel's figures of a process agree with those of the process itself."""

from __future__ import annotations

import os
import resource
import threading
import time

import pytest

from bench.cluster.process_stats import process_state
from scheduler_runtime.metrics import process_metrics


def test_the_state_of_a_process_is_what_the_process_reports_itself() -> None:
    itself = {metric.name: number for metric in process_metrics() for _, _, number in metric.samples()}
    state = process_state(os.getpid())
    assert state.cpu_seconds == pytest.approx(itself["process_cpu_seconds_total"], abs=0.1)
    assert state.resident_bytes == pytest.approx(itself["process_resident_memory_bytes"], rel=0.1)
    assert state.virtual_bytes == pytest.approx(itself["process_virtual_memory_bytes"], rel=0.1)
    assert state.files == pytest.approx(itself["process_open_fds"], abs=2)
    assert state.most_files == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert state.threads >= threading.active_count()
    assert state.age_seconds > 0
    assert state.started_at < time.time()


def test_a_process_that_has_ended_has_no_state() -> None:
    with pytest.raises((FileNotFoundError, ProcessLookupError)):
        process_state(2**22 + 1)
