"""Events about pods: their words, their shape, and never more than needed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.config.berth_options import EventsMode
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.events import truncate_note
from scheduler_runtime.scheduling.reporting import pod_events
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.scheduling.reporting.pod_reporter import UNSCHEDULABLE, PodConditions
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import Pod, PodCondition, PodStatus
from tests.support.scripted import Script, refuses, says, serving

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


@contextlib.asynccontextmanager
async def sending(script: Script, **options: Any) -> AsyncIterator[tuple[Client, Outbox]]:
    async with serving(script) as client:
        outbox = Outbox(**options)
        task = asyncio.create_task(outbox.run())
        try:
            yield client, outbox
            async with asyncio.timeout(10):
                await outbox.drain()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def pod(name: str = "a", **condition: str) -> Pod:
    plain = testing.pod(name, schedulerName="berth")
    return replace(plain, status=PodStatus(conditions=(PodCondition(**condition),))) if condition else plain


async def test_an_event_has_upstreams_shape() -> None:
    script = Script()
    async with sending(script) as (client, outbox):
        PodEvents(client, outbox, "host").scheduled(pod(), "n")
    (request,) = script.received
    assert (request.method, request.path) == ("POST", EVENTS)
    body = request.body
    assert re.fullmatch(r"a\.[0-9a-f]{16}", body["metadata"].pop("name"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", body.pop("eventTime"))
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "reportingController": "berth",
        "reportingInstance": "berth-host",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "Successfully assigned default/a to n",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "a",
            "uid": "uid-of-a",
            "resourceVersion": "",
        },
    }


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1020 + " ..."),
        ("é" * 600, "é" * 510 + " ..."),
    ],
)
def test_a_note_is_cut_to_what_an_event_holds(note: str, expected: str) -> None:
    assert truncate_note(note) == expected
    assert len(truncate_note(note).encode()) <= 1024


async def test_the_same_failure_again_becomes_a_series() -> None:
    script, now = Script(), [0.0]
    async with sending(script) as (client, outbox):
        recorder = PodEvents(client, outbox, "host", clock=lambda: now[0])
        for _ in range(5):
            recorder.failed(pod(), "0/1 nodes are available: 1 Insufficient cpu.")
            await outbox.drain()
            now[0] += 10
    first, second = script.received
    name = first.body["metadata"]["name"]
    assert (second.method, second.path) == ("PATCH", f"{EVENTS}/{name}")
    assert second.content_type == "application/merge-patch+json"
    assert second.body["series"]["count"] == 2


async def test_a_long_series_is_sent_again_every_six_minutes() -> None:
    script, now = Script(), [0.0]
    async with sending(script) as (client, outbox):
        recorder = PodEvents(client, outbox, "host", clock=lambda: now[0])
        for _ in range(40):
            recorder.failed(pod(), "no")
            await outbox.drain()
            now[0] += 30
    assert [request.method for request in script.received] == ["POST", "PATCH", "PATCH", "PATCH", "PATCH"]
    assert [request.body["series"]["count"] for request in script.received[1:]] == [2, 14, 26, 38]


async def test_another_reason_or_a_long_silence_begins_a_new_event() -> None:
    script, now = Script(), [0.0]
    async with sending(script) as (client, outbox):
        recorder = PodEvents(client, outbox, "host", clock=lambda: now[0])
        for note in ("one", "two"):
            recorder.failed(pod(), note)
        recorder.failed(pod("b"), "one")
        now[0] = 361
        recorder.failed(pod(), "one")
    assert [request.method for request in script.received] == ["POST"] * 4


async def test_series_that_are_over_are_forgotten_and_of_too_many_the_one_that_was_silent_for_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pod_events, "MAX_SERIES", 3)
    script, now = Script(), [0.0]
    async with sending(script) as (client, outbox):
        recorder = PodEvents(client, outbox, "host", clock=lambda: now[0])

        async def fails(name: str, seconds: float) -> str:
            now[0], before = seconds, len(script.received)
            recorder.failed(pod(name), "no")
            await outbox.drain()
            return " ".join(request.method for request in script.received[before:])

        assert [await fails(name, 0) for name in "abc"] == ["POST"] * 3
        assert await fails("a", 1) == "PATCH"
        assert await fails("d", 2) == "POST"
        assert await fails("b", 3) == "POST"  # was silent for longest, and one too many
        assert await fails("a", 361) == "PATCH"  # still the series of the beginning
        assert await fails("f", 1000) == "POST"
        assert len(recorder._series) == 1


async def test_a_condition_says_why_a_pod_waits() -> None:
    script = Script()
    async with sending(script) as (client, outbox):
        PodConditions(client, outbox, Nominations()).write_unscheduled(pod(), UNSCHEDULABLE, "no room")
    (request,) = script.received
    assert (request.method, request.path) == ("PATCH", "/api/v1/namespaces/default/pods/a/status")
    assert request.content_type == "application/strategic-merge-patch+json"
    assert request.body["metadata"] == {"uid": "uid-of-a"}
    (condition,) = request.body["status"]["conditions"]
    assert condition.pop("lastTransitionTime")
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
        "observedGeneration": 0,
    }


@pytest.mark.parametrize(
    ("current", "patches"),
    [
        pytest.param(("False", "Unschedulable", "no room"), 0, id="said-already"),
        pytest.param(("False", "Unschedulable", "no cpu"), 1, id="another-message"),
        pytest.param(("False", "SchedulerError", "no room"), 1, id="another-reason"),
    ],
)
async def test_a_condition_is_sent_only_when_it_is_new(current: tuple[str, ...], patches: int) -> None:
    script = Script()
    status, reason, message = current
    before = pod(type="PodScheduled", status=status, reason=reason, message=message)
    async with sending(script) as (client, outbox):
        PodConditions(client, outbox, Nominations()).write_unscheduled(before, UNSCHEDULABLE, "no room")
    assert len(script.received) == patches
    assert all("lastTransitionTime" not in request.body["status"]["conditions"][0] for request in script.received)


@pytest.mark.parametrize(
    ("current", "decided", "patch"),
    [
        pytest.param("", "n", {"nominatedNodeName": "n"}, id="new"),
        pytest.param("n", "", {"nominatedNodeName": None}, id="taken-back"),
        pytest.param("n", "n", {}, id="said-already"),
        pytest.param("n", None, {}, id="nothing-decided"),
    ],
)
async def test_a_status_says_the_nominated_node_when_it_does_not_yet(
    current: str, decided: str | None, patch: dict[str, str | None]
) -> None:
    script, nominations = Script(), Nominations()
    one = pod()
    one = msgspec.structs.replace(one, status=msgspec.structs.replace(one.status, nominated_node_name=current))
    if decided is not None:
        if decided:
            nominations.nominate(one, decided)
        else:
            nominations.clear(one)
    async with sending(script) as (client, outbox):
        PodConditions(client, outbox, nominations).write_unscheduled(one, UNSCHEDULABLE, "no room")
    status = script.received[0].body["status"]
    assert {name: value for name, value in status.items() if name != "conditions"} == patch


async def test_what_is_decided_while_a_condition_waits_to_be_sent_is_sent_with_it() -> None:
    script, nominations = Script(), Nominations()
    async with serving(script) as client:
        outbox = Outbox()
        PodConditions(client, outbox, nominations).write_unscheduled(pod(), UNSCHEDULABLE, "no room")
        nominations.nominate(pod(), "n")
        task = asyncio.create_task(outbox.run())
        await outbox.drain()
        task.cancel()
    assert script.received[0].body["status"]["nominatedNodeName"] == "n"


async def test_of_several_conditions_of_a_pod_only_the_newest_is_sent() -> None:
    script = Script()
    async with serving(script) as client:
        outbox = Outbox()
        conditions = PodConditions(client, outbox, Nominations())
        for message in ("one", "two", "three"):
            conditions.write_unscheduled(pod(), UNSCHEDULABLE, message)
        task = asyncio.create_task(outbox.run())
        await outbox.drain()
        task.cancel()
    assert [request.body["status"]["conditions"][0]["message"] for request in script.received] == ["three"]


@pytest.mark.parametrize(("length", "expected"), [(236, r"a{236}\.[0-9a-f]{16}"), (237, r"[0-9a-f-]{36}")])
async def test_an_event_of_a_pod_with_a_long_name_has_a_name_that_is_allowed(length: int, expected: str) -> None:
    script = Script()
    async with sending(script) as (client, outbox):
        PodEvents(client, outbox, "host").scheduled(pod("a" * length), "n")
    assert re.fullmatch(expected, script.received[0].body["metadata"]["name"])


async def test_half_a_character_in_a_message_keeps_nothing_from_being_sent() -> None:
    script = Script()
    async with sending(script) as (client, outbox):
        PodEvents(client, outbox, "host").failed(pod(), "no file \udcff")
        PodConditions(client, outbox, Nominations()).write_unscheduled(pod(), UNSCHEDULABLE, "no file \udcff")
    bodies = [request.body for request in script.received]
    assert {body.get("note") or body["status"]["conditions"][0]["message"] for body in bodies} == {"no file ?"}


@pytest.mark.parametrize("answer", [NoResponseError("lost", sent=True), ApiError(422, "Invalid", "it is bound")])
async def test_what_is_dropped_is_not_sent_again_and_no_trouble(
    answer: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    outbox, request = Outbox(), list[str]()

    async def send() -> None:
        request.append("sent")
        outbox.drop("key")
        raise answer

    outbox.put("key", send)
    task = asyncio.create_task(outbox.run())
    await outbox.drain()
    task.cancel()
    assert (request, outbox.dropped, caplog.records) == (["sent"], 0, [])


@pytest.mark.usefixtures("short_delays")
async def test_what_fails_is_sent_again_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    script = Script([refuses(500), refuses(503), says({})])
    async with sending(script) as (client, outbox):
        PodEvents(client, outbox, "host").scheduled(pod(), "n")
    assert len(script.received) == 3
    assert outbox.dropped == 0
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == ["events or conditions cannot be written: 500: no"]


@pytest.mark.parametrize(("status", "dropped"), [(404, 0), (409, 0), (403, 1), (422, 1)])
async def test_what_the_server_refuses_is_not_sent_again(status: int, dropped: int) -> None:
    script = Script([refuses(status)])
    async with sending(script) as (client, outbox):
        PodEvents(client, outbox, "host").scheduled(pod(), "n")
    assert (len(script.received), outbox.dropped) == (1, dropped)


async def test_a_full_box_drops_the_newest_and_counts_it(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    async with serving(script) as client:
        outbox = Outbox(longest=2)
        recorder = PodEvents(client, outbox, "host")
        for name in "abcd":
            recorder.scheduled(pod(name), "n")
        assert (len(outbox), outbox.dropped) == (2, 2)
        task = asyncio.create_task(outbox.run())
        await outbox.drain()
        task.cancel()
    assert {request.body["regarding"]["name"] for request in script.received} == {"a", "b"}
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert sum("dropped" in warning for warning in warnings) == 1


async def test_while_bindings_wait_only_one_sender_goes_on() -> None:
    under_way, most = 0, 0

    def count() -> Callable[[], Any]:
        async def send() -> None:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.001)
            under_way -= 1

        return send

    for is_busy, expected in ((True, 1), (False, 8)):
        most = 0
        outbox = Outbox(senders=8, is_busy=lambda is_busy=is_busy: is_busy)  # type: ignore[misc]
        for number in range(40):
            outbox.put(number, count())
        task = asyncio.create_task(outbox.run())
        await outbox.drain()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert most == expected


@pytest.mark.parametrize(
    ("mode", "reasons"),
    [("All", ["Scheduled", "FailedScheduling"]), ("Failures", ["FailedScheduling"]), ("None", [])],
)
async def test_a_mode_leaves_out_what_nobody_wants_to_read(mode: EventsMode, reasons: list[str]) -> None:
    script = Script()
    async with sending(script) as (client, outbox):
        recorder = PodEvents(client, outbox, "host", mode=mode)
        recorder.scheduled(pod("placed"), "n")
        recorder.failed(pod("waiting"), "no room")
    assert [request.body["reason"] for request in script.received] == reasons
