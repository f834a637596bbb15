"""The pages of a process, before and after it has a scheduler."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.catalog import Target
from scheduler_runtime.component.heartbeat import Heartbeat
from scheduler_runtime.component.https import Endpoints, ProcessInfo
from scheduler_runtime.framework import Progress
from scheduler_runtime.kube.leader_election import Leadership
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.serving.pages import Pages
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.objects import Pod
from tests.support.unreadable import pod_asking


@dataclass
class PodReflector:
    """The objects of a reflector."""

    objects: dict[str, Pod] = field(default_factory=dict)


@dataclass
class SchedulerParts:
    """The parts of a scheduler that the pages show."""

    cache: Cache
    queue: SchedulingQueue
    election: Leadership
    heartbeat: Heartbeat = field(default_factory=lambda: Heartbeat("a plugin"))
    pods: Any = field(default_factory=PodReflector)
    progress: Progress = field(default_factory=Progress)
    is_stopping: bool = False
    reflectors: tuple[Any, ...] = ()

    def configz_page(self) -> dict[str, str]:
        return {"hash": "i"}


def scheduler_parts() -> SchedulerParts:
    return SchedulerParts(Cache(), SchedulingQueue({}), Leadership(None))


@pytest.fixture
def pages() -> Pages:
    return Pages(Metrics(), {"hash": "h"}, elects=False)


@pytest.fixture
def endpoints(pages: Pages) -> Endpoints:
    return pages.endpoints("/none", "tests")


def test_before_there_is_a_scheduler_the_process_is_alive_and_not_ready(endpoints: Endpoints, pages: Pages) -> None:
    assert endpoints.respond("/livez").body == "ok"
    assert "[-]sched-handler-sync failed: nothing is listed yet: the API server" in endpoints.respond("/readyz").body
    assert [endpoints.respond(path).body for path in ("/debug/cache", "/debug/pending", "/metrics/resources")] == [
        *("{}\n", "{}\n", ""),
    ]
    assert json.loads(endpoints.respond("/configz").body) == {"hash": "h"}


def test_a_signal_before_there_is_a_scheduler_ends_nothing(pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    pages.log_debug_pages()
    assert caplog.messages == ["there is no cache and no queue yet"]


async def test_a_process_that_shuts_down_is_not_ready_and_alive(endpoints: Endpoints, pages: Pages) -> None:
    scheduler = scheduler_parts()
    pages.show_scheduler(scheduler)
    assert endpoints.respond("/readyz").body == "ok"
    assert json.loads(endpoints.respond("/configz").body) == {"hash": "i"}
    scheduler.is_stopping = True
    assert "[-]shutdown failed: the process is shutting down" in endpoints.respond("/readyz").body
    assert endpoints.respond("/livez").body == "ok"


async def test_only_a_leader_shows_the_requests_of_pods(endpoints: Endpoints, pages: Pages) -> None:
    scheduler = scheduler_parts()
    pages.show_scheduler(scheduler)
    scheduler.pods.objects["a"] = testing.pod("a", {"cpu": "1500m", "memory": "1Gi"}, nodeName="n")
    scheduler.pods.objects["b"] = pod_asking("b", "half")
    assert endpoints.respond("/metrics/resources").body == ""
    scheduler.election.start()
    of_a = 'namespace="default",pod="a",node="n",scheduler="default-scheduler",priority="0"'
    assert [line for line in endpoints.respond("/metrics/resources").body.splitlines() if line[0] != "#"] == [
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
def test_statusz_and_flagz_are_served_where_their_gates_are_on(
    endpoints: Endpoints, pages: Pages, version: str, gates: dict[str, bool], expected: dict[str, int]
) -> None:
    assert endpoints.respond("/statusz").status == 404
    pages.set_target(ProcessInfo("0.9"), Target.parse(version, gates))
    assert {path: endpoints.respond(path).status for path in expected} == expected


def test_before_1_36_these_pages_have_their_first_version_only(endpoints: Endpoints, pages: Pages) -> None:
    pages.set_target(ProcessInfo("0.9"), Target.parse("1.35", {"ComponentFlagz": True}))
    of = "application/json;g=config.k8s.io;as=Flagz;v="
    assert [endpoints.respond("/flagz", f"{of}{version}").status for version in ("v1alpha1", "v1beta1")] == [200, 406]
