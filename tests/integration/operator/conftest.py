"""One control plane with the chart, for all tests of the operator that leave it in order."""

from collections.abc import Callable, Iterator

import pytest

from devcluster import Cluster, Spec
from tests.integration.operator.running import (
    Installed,
    RunningOperator,
    apply_crds_before_controllers,
    installation,
)


@pytest.fixture(scope="session")
def installed(
    cluster_factory: Callable[[Spec], Cluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """The chart on a cluster whose one node, a fake one, says of every pod that it is ready."""
    cluster = cluster_factory(Spec(fake_nodes=1, node="none"))
    apply_crds_before_controllers(cluster)
    with installation(cluster, tmp_path_factory.mktemp("operators")) as operators:
        yield operators


@pytest.fixture(scope="module")
def operator(installed: Installed, request: pytest.FixtureRequest) -> Iterator[RunningOperator]:
    """An operator that leads, for the tests of a module."""
    process = installed.operator(request.module.__name__.rpartition(".")[2])
    try:
        yield process.until_leading()
    finally:
        process.end()
