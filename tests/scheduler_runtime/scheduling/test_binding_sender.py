"""A binding happens once, on the pod that was meant, while we lead; whatever the API server answers."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest

from scheduler_runtime.kube.client import ApiError, Client, NoResponseError, RateLimit
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.scheduling import binding_sender
from scheduler_runtime.scheduling.binding_sender import AlreadyBoundError, BindingSender, FencedError, PodGoneError
from tests.support.scripted import Script, hangs, refuses, resets, says, serving

pytestmark = pytest.mark.usefixtures("short_delays")

POD = "/api/v1/namespaces/ns/pods/a"
DONE = says({"status": "Success"}, 201)
FOR_EVER = float("inf")


def pod(node: str = "", uid: str = "u") -> Any:
    return says({"metadata": {"name": "a", "namespace": "ns", "uid": uid}, "spec": {"nodeName": node}})


async def bind(script: Script, *, leads_until: float = FOR_EVER, seconds: float = 5.0) -> None:
    async with serving(script) as client:
        await BindingSender(client, lambda: leads_until, seconds).bind("ns", "a", "u", "n")


def sent(script: Script) -> list[str]:
    return [f"{request.method} {request.path.removeprefix(POD)}".strip() for request in script.received]


async def test_a_binding_names_the_pod_by_uid_and_the_node() -> None:
    script = Script([DONE])
    await bind(script)
    (request,) = script.received
    assert (request.method, request.path) == ("POST", f"{POD}/binding")
    assert request.body["metadata"] == {"namespace": "ns", "name": "a", "uid": "u"}
    assert request.body["target"] == {"apiVersion": "v1", "kind": "Node", "name": "n"}


@pytest.mark.parametrize("failure", [resets, refuses(500), refuses(504)])
async def test_an_unknown_result_that_was_a_success_is_read_and_not_repeated(failure: Any) -> None:
    script = Script([failure, pod("n")])
    await bind(script)
    assert sent(script) == ["POST /binding", "GET"]


@pytest.mark.parametrize("failure", [resets, refuses(500), refuses(503)])
async def test_an_unknown_result_that_was_a_failure_is_sent_again(failure: Any) -> None:
    script = Script([failure, pod(), DONE])
    await bind(script)
    assert sent(script) == ["POST /binding", "GET", "POST /binding"]


async def test_a_server_that_never_answers_ends_in_time_and_the_pod_is_read() -> None:
    script = Script([hangs, pod("n")])
    async with asyncio.timeout(2):
        await bind(script, seconds=0.2)
    assert sent(script) == ["POST /binding", "GET"]


async def test_looking_up_goes_on_until_there_is_an_answer() -> None:
    script = Script([resets, refuses(500), resets, refuses(503), pod("n")])
    await bind(script)
    assert sent(script)[0] == "POST /binding"
    assert set(sent(script)[1:]) == {"GET"}


async def test_a_binding_that_fails_again_and_again_is_an_error() -> None:
    script = Script([refuses(500), pod(), refuses(500), pod(), refuses(500, message="etcd is ill"), pod()])
    with pytest.raises(ApiError, match="etcd is ill"):
        await bind(script)
    assert sent(script).count("POST /binding") == 3


@pytest.mark.parametrize(
    ("pod_read", "raised"),
    [
        pytest.param(pod("other"), AlreadyBoundError, id="bound-elsewhere"),
        pytest.param(pod("", uid="v"), PodGoneError, id="another-pod-of-that-name"),
        pytest.param(refuses(404), PodGoneError, id="gone-meanwhile"),
        pytest.param(pod(""), ApiError, id="being-deleted"),
    ],
)
async def test_a_conflict_is_explained_by_the_pod(pod_read: Any, raised: type[Exception]) -> None:
    script = Script([refuses(409, "Conflict"), pod_read])
    with pytest.raises(raised):
        await bind(script)
    assert sent(script) == ["POST /binding", "GET"]


async def test_a_conflict_with_our_own_earlier_binding_is_a_success() -> None:
    script = Script([refuses(409, "Conflict"), pod("n")])
    await bind(script)


async def test_a_pod_that_does_not_exist_is_not_looked_up() -> None:
    script = Script([refuses(404, "NotFound")])
    with pytest.raises(PodGoneError):
        await bind(script)
    assert sent(script) == ["POST /binding"]


async def test_a_refusal_is_final() -> None:
    script = Script([refuses(403, "Forbidden", "may not create pods/binding")])
    with pytest.raises(ApiError, match="may not create pods/binding"):
        await bind(script)
    assert sent(script) == ["POST /binding"]


async def test_a_binding_is_sent_again_later_to_a_server_that_is_too_busy() -> None:
    script = Script([refuses(429, **{"Retry-After": "1"}), DONE])
    began = asyncio.get_running_loop().time()
    await bind(script)
    assert sent(script) == ["POST /binding", "POST /binding"]
    assert asyncio.get_running_loop().time() - began >= 1


async def test_a_server_that_stays_too_busy_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding_sender, "LOG_AFTER_SECONDS", 0.02)
    caplog.set_level(logging.INFO)
    await bind(Script([refuses(429)] * 2 + [DONE]))  # it waits a second when it is not said how long
    levels = [record.levelname for record in caplog.records if "too busy for bindings" in record.getMessage()]
    assert levels == ["WARNING", "INFO"]


async def test_an_absent_server_has_bound_nothing() -> None:
    async with Client(Credentials("http://127.0.0.1:9"), "tests") as client:
        with pytest.raises(NoResponseError) as caught:
            await BindingSender(client, lambda: FOR_EVER, 1).bind("ns", "a", "u", "n")
    assert not caught.value.sent


async def test_nothing_is_sent_when_safe_time_is_over() -> None:
    script = Script()
    with pytest.raises(FencedError):
        await bind(script, leads_until=0)
    assert script.received == []


async def test_nothing_is_sent_again_when_safe_time_has_ended_meanwhile() -> None:
    now = [0.0]

    async def late(request: Any) -> Any:
        now[0] = 10.0
        return await refuses(500)(request)

    script = Script([late, pod(), DONE])
    async with serving(script) as client:
        sender = BindingSender(client, lambda: 5.0, 5, clock=lambda: now[0])
        with pytest.raises(FencedError):
            await sender.bind("ns", "a", "u", "n")
    assert sent(script) == ["POST /binding"]


async def test_failing_bindings_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    script = Script([resets, pod(), resets, pod(), DONE])
    await bind(script)
    assert [record.levelname for record in caplog.records if "bindings fail" in record.getMessage()] == [
        "WARNING",
        "INFO",
    ]


async def test_nothing_is_sent_when_safe_time_ends_while_waiting_for_its_turn() -> None:
    script = Script()
    async with serving(script) as client:
        throttled = Client(Credentials(client.server), "tests", RateLimit(5, 1))
        async with throttled:
            await throttled.request("GET", "/first")
            until = time.monotonic() + 0.05
            with pytest.raises(FencedError):
                await BindingSender(throttled, lambda: until, 5).bind("ns", "a", "u", "n")
    assert script.requests("POST") == []


async def test_a_binding_with_a_refused_token_is_not_sent_again_when_safe_time_is_over() -> None:
    now = [0.0]

    async def late(request: Any) -> Any:
        now[0] = 10.0
        return await refuses(401)(request)

    script = Script([late, DONE])
    async with serving(script) as client:
        with pytest.raises(FencedError):
            await BindingSender(client, lambda: 5.0, 5, clock=lambda: now[0]).bind("ns", "a", "u", "n")
    assert sent(script) == ["POST /binding"]


@pytest.mark.parametrize("status", [401, 403])
async def test_looking_up_outlasts_rights_that_are_missing_for_a_while(status: int) -> None:
    script = Script([resets, refuses(status), refuses(status), refuses(status), pod("n")])
    await bind(script)
    assert sent(script)[-1] == "GET"
