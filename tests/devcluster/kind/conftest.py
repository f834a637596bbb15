"""Checks of Docker are made anew for each test."""

from collections.abc import Iterator

import pytest

from devcluster.kind import prerequisites


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Forget the state of Docker: it differs in the next test."""
    prerequisites.can_have.cache_clear()
    yield
    prerequisites.can_have.cache_clear()
