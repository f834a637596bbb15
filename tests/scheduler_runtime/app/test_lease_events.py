"""Events about the Lease: the words and the shape of kube-scheduler's, and no more than is useful."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Any, cast

import pytest

from scheduler_runtime.app import lease_events as lease_events_module
from scheduler_runtime.app.lease_events import REPEAT_SECONDS, LeaseEvents
from scheduler_runtime.config.berth_options import EventsMode
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.kube.leader_election import Leadership
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from tests.scheduler_runtime.scheduling.reporting.test_pod_events import sending
from tests.support.leases import Clock
from tests.support.scripted import Script, refuses

LEASE = {"metadata": {"namespace": "default", "name": "ours", "uid": "u", "resourceVersion": "7", "labels": {}}}
EVENTS = "/api/v1/namespaces/default/events"
WHAT = "made its lease again, which was gone"


class Elected:
    """An election as it is seen from here."""

    def __init__(self, lease: dict[str, Any] = LEASE, *, is_leader: bool = True) -> None:
        self.identity = "me" if lease else ""
        self.lease = lease
        self.is_leader = is_leader


def lease_events(
    client: Client,
    outbox: Outbox,
    elected: Elected | None = None,
    events: EventsMode = "All",
    clock: Clock | None = None,
) -> LeaseEvents:
    election = cast(Leadership, elected or Elected())
    return LeaseEvents(client, outbox, election, "first", events=lambda: events, clock=clock or Clock())


async def test_a_new_leader_posts_an_event_in_upstreams_shape() -> None:
    script = Script()
    async with sending(script) as (client, outbox):
        lease_events(client, outbox).became_leader()
    (request,) = script.received
    assert (request.method, request.path) == ("POST", EVENTS)
    body = request.body
    assert re.fullmatch(r"ours\.[0-9a-f]{16}", body["metadata"].pop("name"))
    at = body.pop("firstTimestamp")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", at)
    assert body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "involvedObject": {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "namespace": "default",
            "name": "ours",
            "uid": "u",
            "resourceVersion": "7",
        },
        "type": "Normal",
        "reason": "LeaderElection",
        "message": "me became leader",
        "count": 1,
        "lastTimestamp": at,
        "source": {"component": "first"},
        "reportingComponent": "first",
    }


async def test_a_process_that_has_lost_its_lease_posts_that_before_it_ends() -> None:
    script = Script()
    async with sending(script) as (client, outbox):
        await lease_events(client, outbox).stopped_leading()
        assert [request.body["message"] for request in script.received] == ["me stopped leading"]


async def test_a_last_event_that_is_refused_delays_nothing() -> None:
    async with sending(Script([refuses(403)])) as (client, outbox):
        await lease_events(client, outbox).stopped_leading()


async def test_a_last_event_without_an_answer_delays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_events_module, "LAST_EVENT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with Client(Credentials(server), "tests") as client, asyncio.timeout(5):
            await lease_events(client, Outbox()).stopped_leading()


async def test_a_warning_is_posted_once_in_a_few_minutes() -> None:
    script, clock = Script(), Clock()
    async with sending(script) as (client, outbox):
        events_of_lease = lease_events(client, outbox, clock=clock)
        for _ in range(3):
            events_of_lease.warn("LeaseMadeAgain", WHAT)
        events_of_lease.warn("OlderData", "something else")
        clock.now += REPEAT_SECONDS
        events_of_lease.warn("LeaseMadeAgain", WHAT)
    posted = [(request.body["type"], request.body["reason"], request.body["message"]) for request in script.received]
    again = ("Warning", "LeaseMadeAgain", f"me {WHAT}")
    assert posted == [again, ("Warning", "OlderData", "me something else"), again]


@pytest.mark.parametrize(
    ("elected", "events", "expected"),
    [
        pytest.param(Elected(), "All", ["LeaderElection", "LeaseMadeAgain"], id="everything"),
        pytest.param(Elected(), "Failures", ["LeaseMadeAgain"], id="failures-alone"),
        pytest.param(Elected(), "None", [], id="nothing"),
        pytest.param(Elected({}), "All", [], id="there-is-no-lease"),
        pytest.param(Elected(is_leader=False), "All", ["LeaderElection"], id="only-a-leader-warns"),
    ],
)
async def test_the_mode_and_the_lease_decide_which_events_are_posted(
    elected: Elected, events: EventsMode, expected: list[str]
) -> None:
    script = Script()
    async with sending(script) as (client, outbox):
        events_of_lease = lease_events(client, outbox, elected, events)
        events_of_lease.became_leader()
        events_of_lease.warn("LeaseMadeAgain", WHAT)
    assert [request.body["reason"] for request in script.received] == expected
