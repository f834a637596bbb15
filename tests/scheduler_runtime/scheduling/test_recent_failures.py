"""Plugins and extenders that fail in nearly every attempt, and those that fail for a pod now and then."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from scheduler_runtime import testing
from scheduler_runtime.api import Plugin, Pod
from scheduler_runtime.config import Failure
from scheduler_runtime.framework import BindError, PluginError
from scheduler_runtime.kube.client import ApiError
from scheduler_runtime.scheduling.recent_failures import RecentFailures
from tests.support.extenders import ExtenderServer, Raw, keeps, serving
from tests.support.scheduling import Scene, running
from tests.support.scripted import says


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


BROKEN = PluginError("PriceCap", "filter", "KeyError: 'price'")
LATE = PluginError("PriceCap", "reserve", "KeyError: 'price'")
REPORTED = (Failure("test", "plugin", "PriceCap", "failed in filter: KeyError: 'price'"),)


def pod(name: str | int) -> Pod:
    return testing.pod(f"p{name}", schedulerName="test")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recent(clock: Clock) -> RecentFailures:
    return RecentFailures(clock)


def test_a_plugin_that_fails_for_every_pod_is_reported_after_the_third(recent: RecentFailures) -> None:
    for number in range(2):
        recent.plugin_failed(pod(number), BROKEN)
    assert recent.failures() == ()
    recent.plugin_failed(pod(2), BROKEN)
    assert recent.failures() == REPORTED


def test_a_pod_that_waits_alone_tells_as_well(recent: RecentFailures) -> None:
    for _ in range(3):
        recent.plugin_failed(pod("alone"), BROKEN)
    assert recent.failures() == REPORTED


def test_one_pod_that_fails_again_and_again_counts_once(recent: RecentFailures) -> None:
    for number in range(20):
        recent.plugin_failed(pod("broken"), BROKEN)
        recent.attempt_passed(pod(number), is_bound=True)
    assert recent.failures() == ()


def test_a_plugin_that_works_again_is_reported_no_longer(recent: RecentFailures) -> None:
    for number in range(5):
        recent.plugin_failed(pod(number), BROKEN)
    for number in range(2):
        recent.attempt_passed(pod(number), is_bound=True)
    assert recent.failures() == REPORTED  # three of five still fail
    recent.attempt_passed(pod(3), is_bound=True)
    assert recent.failures() == ()


@pytest.mark.parametrize(("error", "expected"), [(BROKEN, ()), (LATE, "late")])
def test_a_pod_that_no_node_takes_does_not_show_that_later_hooks_work(
    recent: RecentFailures, error: PluginError, expected: object
) -> None:
    recent.plugin_failed(pod("failed"), error)
    for number in range(20):
        recent.attempt_passed(pod(number), is_bound=False)
    for _ in range(3):
        recent.plugin_failed(pod("failed"), error)
    assert bool(recent.failures()) is bool(expected)


def test_outcomes_of_long_ago_do_not_count(recent: RecentFailures, clock: Clock) -> None:
    recent.plugin_failed(pod("first"), BROKEN)
    for number in range(20):
        recent.attempt_passed(pod(number), is_bound=True)
    clock.now += 121
    for number in range(3):
        recent.plugin_failed(pod(f"late{number}"), BROKEN)
    assert recent.failures() == REPORTED
    clock.now += 121
    recent.expire()
    assert recent.failures() == ()


def test_outcomes_count_for_three_backoffs_at_least(recent: RecentFailures, clock: Clock) -> None:
    recent.start_anew(longest_backoff=600)
    for _ in range(3):
        clock.now += 600
        recent.plugin_failed(pod("alone"), BROKEN)
    recent.expire()
    assert recent.failures() == REPORTED


def test_another_document_is_judged_anew(recent: RecentFailures) -> None:
    for number in range(3):
        recent.plugin_failed(pod(number), BROKEN)
    recent.start_anew(longest_backoff=10)
    assert recent.failures() == ()


def test_memory_has_an_end(recent: RecentFailures, clock: Clock) -> None:
    for number in range(10_000):
        recent.plugin_failed(pod(number), BROKEN)
    (tally,) = recent._tallies["test"].values()
    assert len(tally.pods) == 64
    clock.now += 1000
    recent.expire()
    assert not recent._tallies


def test_profiles_have_nothing_to_do_with_each_other(recent: RecentFailures) -> None:
    for number in range(3):
        recent.plugin_failed(pod(number), BROKEN)
        recent.attempt_passed(testing.pod(f"other{number}", schedulerName="other"), is_bound=True)
    assert recent.failures() == REPORTED


def test_a_plugin_that_binds_nothing_is_named_with_its_words(recent: RecentFailures) -> None:
    for number in range(3):
        recent.plugin_failed(pod(number), BindError("DefaultBinder", 'running Bind plugin "DefaultBinder": 403: no'))
        recent.attempt_passed(pod(f"full{number}"), is_bound=False)
    assert [str(failure) for failure in recent.failures()] == [
        'test: plugin DefaultBinder: running Bind plugin "DefaultBinder": 403: no'
    ]


async def test_a_report_is_made_at_first_and_when_another_begins_to_fail(recent: RecentFailures) -> None:
    reports: list[tuple[Failure, ...]] = []
    task = asyncio.create_task(recent.run(reports.append))
    try:
        await asyncio.sleep(0)
        for number in range(100):
            recent.plugin_failed(pod(number), PluginError("PriceCap", "filter", f"KeyError: '{number}'"))
            await asyncio.sleep(0)
    finally:
        task.cancel()
    assert [len(failures) for failures in reports] == [0, 1]


# In a scheduler.


def breaking(hook: str, error: Exception, name: str = "Breaks") -> type[Plugin]:
    def run(self: Any, *_: Any) -> Any:
        raise error

    async def run_later(self: Any, *_: Any) -> Any:
        raise error

    return type(name, (Plugin,), {hook: run_later if hook in ("pre_bind", "bind") else run})


@pytest.mark.parametrize("hook", ["pre_enqueue", "pre_filter", "filter", "score", "reserve", "permit", "pre_bind"])
async def test_a_plugin_that_raises_for_every_pod_is_noticed(hook: str) -> None:
    async with running(breaking(hook, KeyError("price"))) as scene:
        scene.cache.set_node(testing.node("m", cpu="4"))
        scene.add("p")
        await scene.until(scene.recent.failures)
    (failure,) = scene.recent.failures()
    assert (failure.profile, failure.kind, failure.name) == ("test", "plugin", "Breaks")
    assert "KeyError: 'price'" in failure.text


async def test_bindings_that_the_api_server_refuses_are_noticed() -> None:
    async with running() as scene:
        scene.binds.trouble["p"] = ApiError(403, "Forbidden", "no")
        scene.add("p")
        await scene.until(scene.recent.failures)
    (failure,) = scene.recent.failures()
    assert failure.name == "DefaultBinder"


async def shows_pods(request: web.Request) -> web.StreamResponse:
    name = request.path.rpartition("/")[2]
    metadata = {"name": name, "uid": f"uid-of-{name}", "managedFields": []}
    return await says({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})(request)


async def assert_reported(scene: Scene, server: ExtenderServer, kind: str) -> None:
    await scene.until(scene.recent.failures)
    (failure,) = scene.recent.failures()
    assert (failure.kind, failure.name) == (kind, server.configuration()["urlPrefix"])


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        pytest.param({"filterVerb": "filter"}, "extender", id="filter"),
        pytest.param({"filterVerb": "filter", "ignorable": True}, "ignored extender", id="ignorable"),
        pytest.param({"prioritizeVerb": "prioritize", "weight": 1}, "ignored extender", id="score"),
        pytest.param({"bindVerb": "bind"}, "extender", id="bind"),
    ],
)
async def test_an_extender_that_is_dead_is_noticed(fields: dict[str, Any], kind: str) -> None:
    with serving({}) as server:
        config = {"urlPrefix": server.configuration()["urlPrefix"], "nodeCacheCapable": True, **fields}
        async with running(extenders=[config]) as scene:
            scene.script.otherwise = shows_pods
            scene.cache.set_node(testing.node("m", cpu="4"))
            for number in range(3):
                scene.add(f"p{number}")
            await assert_reported(scene, server, kind)


async def test_an_extender_that_answers_again_is_reported_no_longer() -> None:
    with serving({"filter": lambda _: Raw(503)}) as server:
        async with running(extenders=[server.configuration(nodeCacheCapable=True)]) as scene:
            scene.script.otherwise = shows_pods
            scene.add("p")
            await assert_reported(scene, server, "extender")
            server.answers["filter"] = keeps("n")
            await scene.until(lambda: scene.binds.bound)
            await scene.until(lambda: not scene.recent.failures())
