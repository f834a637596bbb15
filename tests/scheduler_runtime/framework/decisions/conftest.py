"""The calls of plugins are forgotten before each test."""

import pytest

from tests.support.decisions import CALLS


@pytest.fixture(autouse=True)
def _forget_calls() -> None:
    CALLS.clear()
