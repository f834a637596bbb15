"""A control plane with process nodes of its own, which the tests may hurt."""

from collections.abc import Callable, Iterator

import pytest

from devcluster import Cluster, Spec
from tests.devcluster.node.world import Node, World, running_node


@pytest.fixture(scope="session")
def control_plane(cluster_factory: Callable[[Spec], Cluster]) -> Cluster:
    return cluster_factory(Spec(node="none"))


@pytest.fixture(scope="session")
def world(control_plane: Cluster) -> World:
    return World(control_plane)


@pytest.fixture(scope="session")
def node(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """The node that most tests share, with the rights of a kubelet and nothing more."""
    token = str(world.cluster.directory / "credentials" / "node.token")
    directory = tmp_path_factory.mktemp("process-0")
    with running_node(world.cluster, "process-0", directory, token_file=token, token_refresh_at=0.0008) as node:
        world.until_up(node)
        yield node
