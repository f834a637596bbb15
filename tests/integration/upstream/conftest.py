"""One API server for all of upstream's cases, without controllers and without what upstream's own tests leave out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import devcluster
from devcluster import Cluster, Spec
from tests.support.coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]

WITHOUT = "ServiceAccount,TaintNodesByCondition,Priority,StorageObjectInUseProtection"


def bare(*apiserver_args: str) -> Spec:
    return Spec(
        node="none",
        scheduler=False,
        controller_manager=False,
        apiserver_args=(f"--disable-admission-plugins={WITHOUT}", *apiserver_args),
    )


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    with devcluster.running(bare()) as made:
        yield made


@pytest.fixture(scope="module")
def with_alpha() -> Iterator[Cluster]:
    """An API server that takes what is off by default."""
    with devcluster.running(bare("--feature-gates=TaintTolerationComparisonOperators=true")) as made:
        yield made
