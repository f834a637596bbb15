"""What can be asked before there is anything to tell, and what of a process is told."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.app.leader import Election
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import LeaderElection
from scheduler_runtime.framework import Progress
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.serving.https import About, Endpoints
from scheduler_runtime.serving.pages import Pages
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.objects import Pod
from tests.support.unreadable import pod_asking


@dataclass
class Listed:
    """What a watch has listed."""

    objects: dict[str, Pod] = field(default_factory=dict)


@dataclass
class Process:
    """The parts of a process that nothing reaches from outside."""

    cache: Cache
    pending: SchedulingQueue
    election: Election
    pods: Any = field(default_factory=Listed)
    steps: Progress = field(default_factory=Progress)
    is_stopping: bool = False
    reflectors: tuple[Any, ...] = ()


@pytest.fixture
def pages() -> Pages:
    return Pages(Metrics(), lambda: {"hash": "h"}, elects=False)


@pytest.fixture
def endpoints(pages: Pages) -> Endpoints:
    return pages.endpoints("/none", "tests")


def test_before_there_is_a_process_it_lives_and_is_not_ready(endpoints: Endpoints, pages: Pages) -> None:
    assert endpoints.answer("/livez").body == "ok"
    assert "[-]sched-handler-sync failed: nothing is listed yet: the API server" in endpoints.answer("/readyz").body
    assert [endpoints.answer(path).body for path in ("/debug/cache", "/debug/pending", "/metrics/resources")] == [
        *("{}\n", "{}\n", ""),
    ]
    assert json.loads(endpoints.answer("/configz").body) == {"hash": "h"}


def test_a_signal_before_there_is_a_process_ends_nothing(pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    pages.log()
    assert caplog.messages == ["there is no cache and no queue yet"]


async def test_a_process_that_was_told_to_end_is_not_ready_and_lives(endpoints: Endpoints, pages: Pages) -> None:
    process = pages.process = Process(
        Cache(), SchedulingQueue({}), Election(LeaderElection(leader_elect=False), "", "tests")
    )
    assert endpoints.answer("/readyz").body == "ok"
    process.is_stopping = True
    assert "[-]shutdown failed: the process was told to end" in endpoints.answer("/readyz").body
    assert endpoints.answer("/livez").body == "ok"


async def test_only_a_leader_tells_what_pods_ask_for(endpoints: Endpoints, pages: Pages) -> None:
    process = pages.process = Process(
        Cache(), SchedulingQueue({}), Election(LeaderElection(leader_elect=False), "", "tests")
    )
    process.pods.objects["a"] = testing.pod("a", {"cpu": "1500m", "memory": "1Gi"}, nodeName="n")
    process.pods.objects["b"] = pod_asking("b", "half")
    assert endpoints.answer("/metrics/resources").body == ""
    process.election.start()
    of_a = 'namespace="default",pod="a",node="n",scheduler="default-scheduler",priority="0"'
    assert [line for line in endpoints.answer("/metrics/resources").body.splitlines() if line[0] != "#"] == [
        f'kube_pod_resource_request{{{of_a},resource="cpu",unit="cores"}} 1.5',
        f'kube_pod_resource_request{{{of_a},resource="memory",unit="bytes"}} 1.073741824e+09',
    ]


@pytest.mark.parametrize(
    ("version", "gates", "expected"),
    [
        pytest.param("1.35", {}, {"/statusz": 404, "/flagz": 404}, id="off-by-default-before-1.36"),
        pytest.param("1.35", {"ComponentStatusz": True}, {"/statusz": 200, "/flagz": 404}, id="turned-on"),
        pytest.param("1.36", {}, {"/statusz": 200, "/flagz": 200}, id="on-by-default-from-1.36-on"),
        pytest.param("1.37", {"ComponentFlagz": False}, {"/statusz": 200, "/flagz": 404}, id="turned-off"),
    ],
)
def test_what_runs_and_its_flags_are_told_where_their_gates_are_on(
    endpoints: Endpoints, pages: Pages, version: str, gates: dict[str, bool], expected: dict[str, int]
) -> None:
    assert endpoints.answer("/statusz").status == 404
    pages.tell(About("0.9"), Target.parse(version, gates))
    assert {path: endpoints.answer(path).status for path in expected} == expected


def test_before_1_36_only_the_first_version_of_these_pages_is_known(endpoints: Endpoints, pages: Pages) -> None:
    pages.tell(About("0.9"), Target.parse("1.35", {"ComponentFlagz": True}))
    of = "application/json;g=config.k8s.io;as=Flagz;v="
    assert [endpoints.answer("/flagz", f"{of}{version}").status for version in ("v1alpha1", "v1beta1")] == [200, 406]
