"""Preempting pods through the API server: what is sent, what is told, and what becomes of troubles."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from scheduler_runtime.api import Pod
from scheduler_runtime.catalog import Version
from scheduler_runtime.framework import DECISION
from scheduler_runtime.kube.client import ApiError, NoResponseError
from scheduler_runtime.scheduling import preemption
from scheduler_runtime.scheduling.binding_sender import FencedError
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.scheduling.preemption import Preemption
from scheduler_runtime.scheduling.reporting.outbox import Outbox
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.nominations import Nominations
from tests.support.preempting import HIGH, LOW, pod
from tests.support.scripted import Script, hangs, refuses, resets, says, serving

VICTIM, PREEMPTOR = pod("v", LOW, node="a"), pod("p", HIGH)
POD = "/api/v1/namespaces/default/pods/v"
MESSAGE = "test: preempting to accommodate a higher priority pod"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    class Soon:
        def __init__(self, *_: float) -> None: ...

        def next_delay(self, requested: float = 0) -> float:
            return 0.0

    monkeypatch.setattr(preemption, "Backoff", Soon)


class Sent:
    """Everything between a plugin's wish and the API server."""

    def __init__(self, script: Script, client: Any, version: str) -> None:
        self.script = script
        self.outbox = Outbox()
        self.nominations = Nominations()
        self.cache = Cache()
        self.cache.add(VICTIM)
        self.metrics = Metrics()
        self.can_be_preempted: set[str] = set()
        self.leads = True
        self.preemptions = Preemption(
            client,
            self.check_fence,
            self,
            PodEvents(client, self.outbox, "host"),
            self.nominations,
            self.cache,
            self.metrics,
            version=Version.parse(version),
        )

    def preempt(self, pod: Pod, plugin: str) -> bool:
        return pod.name in self.can_be_preempted

    def start_making_room(self, pod: Pod, work: Coroutine[Any, Any, None]) -> None:
        raise AssertionError("only what a plugin asks for is tested here")

    def check_fence(self) -> None:
        if not self.leads:
            raise FencedError("not any more")

    async def preempt_victim(self, victim: Pod = VICTIM) -> None:
        await self.preemptions.preempt(victim, PREEMPTOR, "a", "DefaultPreemption")

    async def preempt_for(self, preemptor: Pod) -> None:
        await self.preemptions.preempt(VICTIM, preemptor, "a", "DefaultPreemption")

    async def events(self) -> list[Any]:
        task = asyncio.create_task(self.outbox.run())
        await self.outbox.drain()
        task.cancel()
        return [request.body for request in self.script.requests("POST")]

    @property
    def sent_requests(self) -> list[tuple[str, str]]:
        return [(request.method, request.path) for request in self.script.received]


@contextlib.asynccontextmanager
async def sent(*answers: Any, version: str = "v1.36.4") -> AsyncIterator[Sent]:
    script = Script(list(answers))
    async with serving(script) as client:
        yield Sent(script, client, version)


async def test_a_victim_gets_a_condition_and_is_deleted_by_its_uid() -> None:
    async with sent() as world:
        await world.preempt_victim()
    patch, delete = world.script.received
    (condition,) = patch.body["status"]["conditions"]
    assert (patch.method, patch.path, patch.body["metadata"]) == ("PATCH", f"{POD}/status", {"uid": "v"})
    assert condition.pop("lastTransitionTime")
    assert condition == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": MESSAGE,
        "observedGeneration": 0,
    }
    assert (delete.method, delete.path, delete.body["preconditions"]) == ("DELETE", POD, {"uid": "v"})


async def test_an_event_says_for_whom() -> None:
    async with sent() as world:
        await world.preempt_victim()
        (event,) = await world.events()
    fields = (event["type"], event["reason"], event["action"], event["note"], event["reportingController"])
    assert fields == ("Normal", "Preempted", "Preempting", "Preempted by pod p on node a", "test")
    assert (event["regarding"]["name"], event["related"]["name"]) == ("v", "p")


async def test_the_log_says_who_was_preempted_where_and_for_whom(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(DECISION)
    async with sent() as world:
        await world.preempt_victim()
    (line,) = [vars(record) for record in caplog.records if record.msg == "preempted"]
    assert (line["pod"], line["node"], line["for"]) == ("default/v", "a", "default/p")


async def test_the_same_condition_is_not_sent_again() -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": MESSAGE}
    async with sent() as world:
        await world.preempt_victim(pod("v", LOW, node="a", status={"conditions": [condition]}))
    assert world.sent_requests == [("DELETE", POD)]


@pytest.mark.parametrize(
    ("version", "note"),
    [
        ("v1.36.4", "Preempted by pod p on node a (in kube-scheduler memory)."),
        ("v1.35.4", "Preempted by pod p on node a"),
    ],
)
async def test_a_victim_that_is_not_bound_yet_is_preempted_without_a_request(version: str, note: str) -> None:
    async with sent(version=version) as world:
        world.can_be_preempted = {"v"}
        await world.preempt_victim()
        assert world.sent_requests == []
        assert [event["note"] for event in await world.events()] == [note]


@pytest.mark.parametrize("status", [404, 409])
async def test_a_victim_that_was_deleted_or_replaced_is_no_error_and_no_event(status: int) -> None:
    async with sent(refuses(status), refuses(status)) as world:
        await world.preempt_victim()
        assert await world.events() == []
    assert world.sent_requests == [("PATCH", f"{POD}/status"), ("DELETE", POD)]


async def test_trouble_of_the_api_server_is_waited_for() -> None:
    async with sent(refuses(500), says({}), resets, refuses(429), says({})) as world:
        await world.preempt_victim()
    assert [method for method, _ in world.sent_requests] == ["PATCH", "PATCH", "DELETE", "DELETE", "DELETE"]


async def test_a_refusal_is_an_error_and_nothing_more_is_sent() -> None:
    async with sent(says({}), refuses(403, "Forbidden", "may not delete")) as world:
        with pytest.raises(ApiError, match="may not delete"):
            await world.preempt_victim()
        assert await world.events() == []
    assert [method for method, _ in world.sent_requests] == ["PATCH", "DELETE"]


async def test_trouble_without_end_is_an_error() -> None:
    async with sent(*[resets] * preemption.TRIES * 2) as world:
        with pytest.raises(NoResponseError):
            await world.preempt_victim()


async def test_nobody_is_preempted_by_who_does_not_lead() -> None:
    async with sent() as world:
        world.leads = False
        with pytest.raises(FencedError):
            await world.preempt_victim()
    assert world.sent_requests == []


OTHERS = [pod(f"p{number}", HIGH) for number in range(1, 4)]


async def test_a_victim_of_several_preemptors_is_asked_once_and_told_of_once() -> None:
    async with sent() as world:
        world.cache.victims.claim(PREEMPTOR, [VICTIM])
        await asyncio.gather(*map(world.preempt_for, [PREEMPTOR, *OTHERS]))
        await world.preempt_for(OTHERS[0])  # the watch has not shown yet that it leaves
        assert [method for method, _ in world.sent_requests] == ["PATCH", "DELETE"]
        assert [event["note"] for event in await world.events()] == ["Preempted by pod p on node a"]
        world.cache.victims.release(PREEMPTOR, [VICTIM])
        assert VICTIM.uid in world.cache.victims
        world.cache.remove(VICTIM.uid)
        assert VICTIM.uid not in world.cache.victims


async def test_a_victim_that_a_restored_backup_shows_without_its_deletion_is_asked_again() -> None:
    async with sent() as world:
        await world.preempt_victim()
        world.cache.add(pod("v", LOW, node="a", deleted=True))
        world.cache.add(VICTIM)
        assert VICTIM.uid not in world.cache.victims
        await world.preempt_victim()
    assert [method for method, _ in world.sent_requests] == ["PATCH", "DELETE"] * 2


async def test_after_a_backup_was_restored_victims_are_asked_again_whether_or_not_their_deletion_was_seen() -> None:
    async with sent() as world:
        world.cache.victims.claim(OTHERS[0], [VICTIM])
        await world.preempt_victim()
        world.cache.victims.forget_asked()
        assert VICTIM.uid in world.cache.victims  # another preemptor has still to make room
        world.cache.victims.release(OTHERS[0], [VICTIM])
        assert VICTIM.uid not in world.cache.victims
        await world.preempt_victim()
        world.cache.victims.forget_asked()
        assert VICTIM.uid not in world.cache.victims
    assert [method for method, _ in world.sent_requests] == ["PATCH", "DELETE"] * 2


async def test_whoever_waits_for_a_victim_is_told_that_it_stays_and_may_ask_again() -> None:
    async with sent(says({}), refuses(403, "Forbidden", "may not delete"), says({}), says({})) as world:
        outcomes = await asyncio.gather(*map(world.preempt_for, OTHERS), return_exceptions=True)
        assert [str(outcome) for outcome in outcomes] == [str(outcomes[0])] * 3
        assert isinstance(outcomes[0], ApiError)
        assert [method for method, _ in world.sent_requests] == ["PATCH", "DELETE"]
        assert VICTIM.uid not in world.cache.victims
        await world.preempt_for(OTHERS[0])
        assert VICTIM.uid in world.cache.victims
    assert [method for method, _ in world.sent_requests] == ["PATCH", "DELETE"] * 2


async def test_whoever_waits_for_a_victim_asks_itself_when_the_first_is_cancelled() -> None:
    async with sent(hangs) as world:
        first = asyncio.create_task(world.preempt_for(PREEMPTOR))
        second = asyncio.create_task(world.preempt_for(OTHERS[0]))
        while not world.sent_requests:  # noqa: ASYNC110  the server knows of no event
            await asyncio.sleep(0.005)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await second
        assert [event["related"]["name"] for event in await world.events()] == [OTHERS[0].name]


@pytest.mark.parametrize(
    "latest",
    [
        pytest.param(None, id="gone"),
        pytest.param(pod("v", LOW, node="b"), id="on-another-node"),
        pytest.param(pod("v", LOW, node="a", deleted=True), id="being-deleted"),
    ],
)
async def test_a_victim_that_left_before_its_turn_is_not_asked(latest: Pod | None) -> None:
    async with sent() as world:
        world.cache.remove(VICTIM.uid)
        if latest:
            world.cache.add(latest)
        await world.preempt_victim()
        assert await world.events() == []
    assert world.sent_requests == []


async def test_a_nomination_is_cleared_here_and_in_the_status() -> None:
    nominated = pod("v", LOW, status={"nominatedNodeName": "a"})
    async with sent() as world:
        world.nominations.observe(None, nominated)
        await world.preemptions.clear_nomination(nominated)
    (patch,) = world.script.received
    assert (patch.path, patch.body) == (
        f"{POD}/status",
        {"metadata": {"uid": "v"}, "status": {"nominatedNodeName": None}},
    )
    assert not world.nominations


async def test_attempts_and_victims_are_counted() -> None:
    async with sent() as world:
        world.preemptions.count_attempt()
        world.preemptions.count_victims(3)
    text = world.metrics.text()
    assert "scheduler_preemption_attempts_total 1" in text
    assert 'scheduler_preemption_victims_bucket{le="4"} 1' in text
