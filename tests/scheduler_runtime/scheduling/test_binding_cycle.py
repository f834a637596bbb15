"""A plugin that fails while a pod is bound, or around it: the pod gives its room back, or is bound all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Nomination, Plugin, Reject
from scheduler_runtime.framework import BindError
from scheduler_runtime.framework.binding_hooks import BindingHooks
from scheduler_runtime.scheduling.binding_cycle import CANCELLED
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.support.scheduling import running


def fails(*_: Any) -> Any:
    raise ZeroDivisionError("a plugin's bug")


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log says has failed."""
    return [vars(record)["because"] for record in caplog.records if record.levelname == "ERROR"]


async def fails_later(*_: Any) -> Any:
    fails()


async def waits_for_what_it_cancelled(*_: Any) -> Any:
    call = asyncio.ensure_future(asyncio.sleep(60))
    asyncio.get_running_loop().call_soon(call.cancel)
    await call


async def cancels_its_own_task(*_: Any) -> Any:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(60)


async def refuses(*_: Any) -> Any:
    return "no"


@pytest.mark.parametrize(
    ("hooks", "without", "message"),
    [
        pytest.param(
            {"pre_bind": fails_later},
            [],
            'running PreBind plugin "Breaks": ZeroDivisionError: a plugin\'s bug',
            id="pre_bind",
        ),
        pytest.param(
            {"bind": fails_later},
            ["DefaultBinder"],
            'running Bind plugin "Breaks": ZeroDivisionError: a plugin\'s bug',
            id="bind",
        ),
        pytest.param(
            {"pre_bind": waits_for_what_it_cancelled},
            [],
            'running PreBind plugin "Breaks": CancelledError',
            id="pre_bind-cancelled",
        ),
        pytest.param(
            {"bind": waits_for_what_it_cancelled},
            ["DefaultBinder"],
            'running Bind plugin "Breaks": CancelledError',
            id="bind-cancelled",
        ),
        pytest.param({"pre_bind": cancels_its_own_task}, [], CANCELLED, id="pre_bind-cancels-itself"),
        pytest.param({"bind": cancels_its_own_task}, ["DefaultBinder"], CANCELLED, id="bind-cancels-itself"),
        pytest.param(
            {"bind": refuses},
            ["DefaultBinder"],
            "running Bind plugin \"Breaks\": plugin Breaks failed in bind: it answered 'no', "
            "which is not one of its answers",
            id="bind-answers-no",
        ),
        pytest.param(
            {"pre_bind": refuses},
            [],
            "running PreBind plugin \"Breaks\": plugin Breaks failed in pre_bind: it answered 'no', "
            "which is not one of its answers",
            id="pre_bind-answers-no",
        ),
        pytest.param(
            {"pre_bind": fails_later, "pre_bind_flight": fails},
            [],
            "running PreBindPreFlight 'Breaks': plugin Breaks failed in pre_bind_flight: "
            "ZeroDivisionError: a plugin's bug",
            id="pre_bind_flight",
        ),
    ],
)
async def test_a_binding_that_fails_gives_the_room_back(
    hooks: dict[str, Any], without: list[str], message: str
) -> None:
    async with running(type("Breaks", (Plugin,), hooks), without=without) as scene:
        broken = scene.add("broken")
        await scene.until(lambda: scene.script.requests("POST"))
        assert (await scene.events())[0] == ("FailedScheduling", message)
        assert scene.binds.bound == []
        await scene.until(lambda: scene.place(broken) is QueuePlace.BACKOFF)
        await scene.until(lambda: scene.cpu == 0)


@pytest.mark.parametrize(("hook", "without"), [("pre_bind", []), ("bind", ["DefaultBinder"])])
async def test_a_binding_that_is_cancelled_at_the_end_is_no_failure_of_a_plugin(hook: str, without: list[str]) -> None:
    started = asyncio.Event()

    async def hangs(*_: Any) -> Any:
        started.set()
        await asyncio.sleep(60)

    async with running(type("Hangs", (Plugin,), {hook: hangs}), without=without) as scene:
        pod = scene.add("a")
        await started.wait()
        assert not await scene.underway.finish(0.01)
        assert scene.place(pod) is QueuePlace.BINDING
        assert scene.script.requests("POST") == []


@pytest.mark.parametrize("at_once", [True, False])
async def test_making_room_that_ends_cancelled_is_a_failure_and_others_are_decided_about(
    at_once: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def nominates(*_: Any) -> Any:
        return Nomination("m", waits_for_what_it_cancelled(), at_once=at_once)

    async with running(type("Breaks", (Plugin,), {"post_filter": nominates}), without=["DefaultPreemption"]) as scene:
        scene.cache.set_node(testing.node("m", unschedulable=True))
        scene.add("big", cpu="9", priority=9)
        scene.add("a")
        await scene.until(lambda: scene.binds.bound and reasons(caplog))
    assert "making room failed" in caplog.text


async def test_a_binding_that_fails_in_a_plugin_is_in_the_log_with_the_place(caplog: pytest.LogCaptureFixture) -> None:
    async with running(type("Breaks", (Plugin,), {"pre_bind": fails_later})) as scene:
        scene.add("broken")
        await scene.until(lambda: reasons(caplog))
    assert reasons(caplog) == ['running PreBind plugin "Breaks": ZeroDivisionError: a plugin\'s bug']
    assert "in fails_later" in caplog.text


async def test_what_fails_after_the_binding_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with running(type("Breaks", (Plugin,), {"post_bind": fails})) as scene:
        scene.add("a")
        await scene.until(lambda: scene.binds.bound)
        assert await scene.events() == [("Scheduled", "Successfully assigned default/a to n")]
    assert reasons(caplog) == ["plugin Breaks failed in post_bind: ZeroDivisionError: a plugin's bug"]


async def test_an_unreserve_that_fails_does_not_keep_the_room(caplog: pytest.LogCaptureFixture) -> None:
    rejects = {"permit": lambda *_: Reject.pod("not here"), "unreserve": fails, "reserve": lambda *_: None}
    async with running(type("Breaks", (Plugin,), rejects)) as scene:
        pod = scene.add("a")
        await scene.until(lambda: scene.place(pod) is QueuePlace.PARKED)
        assert scene.cpu == 0
    assert reasons(caplog) == ["plugin Breaks failed in unreserve: ZeroDivisionError: a plugin's bug"]


async def test_an_error_without_words_gives_the_room_back_and_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails_without_words(*_: Any) -> None:
        raise BindError("Breaks", "")

    monkeypatch.setattr(BindingHooks, "run_bind_plugins", fails_without_words)
    async with running() as scene:
        pod = scene.add("a")
        await scene.until(lambda: scene.place(pod) is QueuePlace.BACKOFF)
        assert scene.cpu == 0
        monkeypatch.undo()
        await scene.until(lambda: scene.binds.bound)


async def test_a_report_that_fails_does_not_give_the_room_of_a_bound_pod_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with running() as scene:
        monkeypatch.setattr(scene.reporter.events, "scheduled", fails)
        pod = scene.add("a")
        await scene.until(lambda: "not all was reported" in caplog.text)
        assert scene.binds.bound == [("a", "n")]
        assert (scene.cpu, scene.cache.is_assumed(pod.uid), scene.place(pod)) == (1000, True, QueuePlace.BINDING)
