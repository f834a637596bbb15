"""Tests may be coroutines; and what the scheduler logs instead of raising it."""

from __future__ import annotations

import pytest

from scheduler_runtime.framework import FailureLog, PluginError
from tests.fuzz.world import OURS_TO_SAY
from tests.support.coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]


@pytest.fixture
def no_failure_is_only_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the scheduler logs and survives fails the test too, unless it is what it has to say about the object."""

    def log(_: FailureLog, message: str, error: BaseException, **values: object) -> None:
        cause = error.__cause__ if isinstance(error, PluginError) else error
        if not isinstance(cause, OURS_TO_SAY):
            raise AssertionError(f"{message}: {values}") from error

    monkeypatch.setattr(FailureLog, "log", log)
