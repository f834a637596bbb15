"""Tests of the runtime may be coroutines, and need not wait between attempts as long as a scheduler does."""

from __future__ import annotations

import pytest

from scheduler_runtime.kube.retry import Backoff
from tests.support.coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]


@pytest.fixture
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delays between attempts are a tenth of what they are: for tests that count attempts."""
    next_delay = Backoff.next_delay
    monkeypatch.setattr(Backoff, "next_delay", lambda self, requested=0.0: next_delay(self, requested) / 10)
