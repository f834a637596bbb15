"""The stories on real nodes: kind, with the operator and the schedulers in containers built from the Dockerfile."""

from collections.abc import Iterator

import pytest

from devcluster import Cluster
from devcluster.api import Api
from examples.demo import containers
from examples.demo.installation import install_operator
from examples.demo.kubectl import Kubectl
from tests.support.stories import *  # noqa: F403  the stories are told once
from tests.support.world import World, kill_container

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(300)]

IMAGE = "localhost/berth:e2e"


@pytest.fixture(scope="module")
def world(kind_cluster: Cluster) -> Iterator[World]:
    containers.provide(kind_cluster, IMAGE)
    kubectl = Kubectl(kind_cluster.env())
    install_operator(kubectl, IMAGE)
    with Api(kind_cluster.server, kind_cluster.ca, kind_cluster.token) as api:
        yield World(api, kubectl, IMAGE, kill_container)
