"""One scheduler that leads, with and without an election; what becomes of several is in ``faults``."""

from __future__ import annotations

from pathlib import Path

import pytest

from devcluster import Cluster
from tests.integration.scheduler.support import api, document, scheduler

pytestmark = pytest.mark.cluster


async def test_without_leader_election_there_is_no_lease(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(leaderElection={"leaderElect": False})) as process:
            await there.until(lambda: process.is_scheduling, 30)
            await there.create_pods(10)
            await there.all_bound(10)
            assert not process.lines("lease")
            assert process.end() == 0
