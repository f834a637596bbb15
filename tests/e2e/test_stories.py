"""The stories on real nodes: kind, with the operator and the schedulers in containers built from the Dockerfile."""

from collections.abc import Iterator

import pytest

import devcluster
from devcluster import Cluster, Spec
from devcluster.model.api import AdminApi
from examples.demo import containers
from examples.demo.installation import install_operator
from examples.demo.kubectl import Kubectl
from tests.support.stories import *  # noqa: F403  the stories are told once
from tests.support.world import World, kill_container

pytestmark = [pytest.mark.nodes, pytest.mark.timeout(300)]

IMAGE = "localhost/berth:e2e"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with devcluster.running(Spec(kind=True)) as running:
        yield running


@pytest.fixture(scope="module")
def world(cluster: Cluster) -> Iterator[World]:
    containers.provide(cluster, IMAGE)
    kubectl = Kubectl(cluster.env())
    install_operator(kubectl, IMAGE)
    with AdminApi(cluster.server, cluster.ca, cluster.token) as api:
        yield World(api, kubectl, IMAGE, kill_container)
