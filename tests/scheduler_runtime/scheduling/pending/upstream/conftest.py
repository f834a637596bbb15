"""The queue of each case."""

from __future__ import annotations

import pytest

from tests.scheduler_runtime.scheduling.pending.upstream.queueing import Queue


@pytest.fixture
def queue() -> Queue:
    return Queue()
