from collections.abc import Iterator

import pytest

from devcluster.kind import prerequisites


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """What one test found out about Docker is not true in the next."""
    prerequisites._can_have.cache_clear()
    yield
    prerequisites._can_have.cache_clear()
