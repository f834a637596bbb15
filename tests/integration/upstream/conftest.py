"""One API server for all of upstream's cases, without controllers and without what upstream's own tests leave out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import devcluster
from devcluster import Cluster, Spec
from tests.support.coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]


def bare(*apiserver_args: str) -> Spec:
    return Spec(node="none", scheduler=False, controller_manager=False, apiserver_args=apiserver_args)


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    """An API server that lets pods say their priority themselves."""
    with devcluster.running(bare("--disable-admission-plugins=Priority,StorageObjectInUseProtection")) as cluster:
        yield cluster


OTHER_GATES = {
    "TaintTolerationComparisonOperators": True,
    "MatchLabelKeysInPodTopologySpread": False,
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": False,
}


@pytest.fixture(scope="session")
def other_server() -> Iterator[Cluster]:
    """An API server that takes some fields that are refused by default, drops some, and knows priority classes."""
    gates = ",".join(f"{gate}={str(on).lower()}" for gate, on in OTHER_GATES.items())
    with devcluster.running(bare(f"--feature-gates={gates}")) as cluster:
        yield cluster


@pytest.fixture
def other_gates() -> dict[str, bool]:
    """The gates of ``other_server``, for a scheduler there."""
    return OTHER_GATES
