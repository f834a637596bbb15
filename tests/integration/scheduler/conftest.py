"""One small cluster for every test of the scheduler; tests may be coroutines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import devcluster
from devcluster import Cluster, Spec
from tests.support.coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]

NODES = 20


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with devcluster.running(Spec(node="none", fake_nodes=NODES, scheduler=False)) as made:
        yield made
