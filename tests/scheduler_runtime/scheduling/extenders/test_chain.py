"""Extenders over real HTTP in a scheduler in memory: what they are asked, what they cause, and what they break."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Mapping
from time import thread_time
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.api import Action
from scheduler_runtime.framework import ExtenderAnswers, ScoreQuestion
from scheduler_runtime.scheduling.extenders.chain import ExtenderChain
from scheduler_runtime.scheduling.pending import QueuePlace
from scheduler_runtime.scheduling.pending.attempt_budget import SLOW_SECONDS
from tests.support.extenders import Answer, ExtenderServer, Object, Raw, keeps, prefers, serving
from tests.support.scheduling import Scene, running
from tests.support.scripted import refuses, says

NAMES = ("a", "b", "c")


async def _api(request: web.Request) -> web.StreamResponse:
    """Says of every pod what the builder of tests makes of its name."""
    name = request.path.rpartition("/")[2]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": f"uid-of-{name}", "managedFields": []}}
    return await says(pod)(request)


async def _stumbles(request: web.Request) -> web.StreamResponse:
    return await (refuses(500) if request.method == "GET" else _api)(request)


@contextlib.asynccontextmanager
async def scheduling(*extenders: Mapping[str, Any]) -> AsyncIterator[Scene]:
    """A scheduler of three nodes that asks ``extenders``."""
    async with running(extenders=extenders) as scene:
        scene.script.otherwise = _api
        scene.cache.remove_node("n")
        for name in NAMES:
            scene.cache.set_node(testing.node(name, cpu="4"))
        yield scene


def asks(extender: ExtenderServer, **fields: Any) -> Object:
    return extender.configuration(nodeCacheCapable=True, **fields)


async def message(scene: Scene) -> str:
    """What the first pod that has no node is told."""
    await scene.until(lambda: scene.script.requests("POST"))
    return (await scene.events())[0][1]


async def test_only_what_an_extender_lets_through_is_chosen() -> None:
    with serving({"filter": keeps("b")}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.add("p")
            await scene.until(lambda: scene.binds.bound)
            assert scene.binds.bound == [("p", "b")]
        (question,) = extender.questions("filter")
        assert (sorted(question["NodeNames"]), question["Nodes"]) == (["a", "b", "c"], None)
        assert question["Pod"] == {"metadata": {"name": "p", "uid": "uid-of-p"}}


async def test_each_filter_is_asked_about_what_those_before_let_through() -> None:
    with serving({"filter": keeps("a", "b")}) as first, serving({"filter": keeps("b", "c")}) as second:
        async with scheduling(asks(first), asks(second)) as scene:
            scene.add("p")
            await scene.until(lambda: scene.binds.bound)
            assert scene.binds.bound == [("p", "b")]
        assert second.questions("filter")[0]["NodeNames"] == ["a", "b"]


async def test_scores_weigh_ten_times_their_weight_and_add_up() -> None:
    with serving({"prioritize": prefers("c")}) as one, serving({"prioritize": prefers("a", 2)}) as other:
        async with scheduling(asks(one, weight=3), asks(other, weight=5)) as scene:
            extenders = scene.frameworks["test"].extenders
            assert extenders is not None
            pod, table = testing.pod("p"), scene.cache.table
            advice = await extenders.answer(ScoreQuestion(["a", "c"]), pod, ExtenderAnswers(), table)
    assert advice.scores == {"a": 1 * 30 + 2 * 50, "c": 10 * 30 + 1 * 50}


async def test_the_number_of_extenders_that_score_is_counted() -> None:
    both, chains, scoring = threading.Barrier(2, timeout=10), list[ExtenderChain](), list[int]()

    def counts(question: Object) -> Any:
        both.wait()
        scoring.append(chains[0].scoring)
        both.wait()
        return prefers("a")(question)

    with serving({"prioritize": counts}) as one, serving({"prioritize": counts}) as other:
        async with scheduling(asks(one), asks(other)) as scene:
            extenders = scene.frameworks["test"].extenders
            assert isinstance(extenders, ExtenderChain)
            chains.append(extenders)
            await extenders.answer(ScoreQuestion(["a", "c"]), testing.pod("p"), ExtenderAnswers(), scene.cache.table)
            assert (scoring, extenders.scoring) == ([2, 2], 0)


async def test_extenders_decide_among_nodes_that_plugins_find_alike() -> None:
    with serving({"prioritize": prefers("c")}) as strong, serving({"prioritize": prefers("a")}) as weak:
        async with scheduling(asks(strong, weight=1000), asks(weak, weight=999)) as scene:
            scene.add("p")
            await scene.until(lambda: scene.binds.bound)
            assert scene.binds.bound == [("p", "c")]


async def test_a_single_node_that_is_left_needs_no_score() -> None:
    with serving({"filter": keeps("a"), "prioritize": prefers("a")}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.add("p")
            await scene.until(lambda: scene.binds.bound)
        assert extender.questions("prioritize") == []


async def test_a_pod_without_its_resources_is_none_of_its_business() -> None:
    with serving({"filter": keeps()}) as extender:
        async with scheduling(asks(extender, managedResources=[{"name": "example.com/gpu"}])) as scene:
            scene.add("p")
            await scene.until(lambda: scene.binds.bound)
        assert extender.received == []


async def test_why_nodes_fail_is_told_and_anything_wakes_the_pod() -> None:
    def refuses(question: Object) -> Object:
        return {
            "NodeNames": [],
            "FailedNodes": {"a": "is full", "b": "is full"},
            "FailedAndUnresolvableNodes": {"b": "is broken"},
        }

    with serving({"filter": refuses}) as extender:
        async with scheduling(asks(extender)) as scene:
            pod = scene.add("p")
            assert (await message(scene)).startswith("0/3 nodes are available: 1 is broken, 1 is full. ")
            await scene.until(lambda: scene.place(pod) is QueuePlace.PARKED)
            (entry,) = scene.queue.entries()
            assert entry.plugins == {"Extender"}
            assert all(one.covers("Node", Action.ADD) for one in scene.frameworks["test"].queue.events["Extender"])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(lambda _: Raw(500), ", code 500", id="refused"),
        pytest.param(lambda _: Raw(200, b"<html>"), ": its answer cannot be read: ", id="no-JSON"),
        pytest.param(lambda _: {"NodeNames": "a"}, ": its answer cannot be read: ", id="another-shape"),
        pytest.param(lambda _: {"Error": "out of coffee"}, ": out of coffee", id="an-error-of-its-own"),
        pytest.param(lambda _: {"NodeNames": ["z"]}, 'claims a filtered node "z" which is not', id="an-unknown-node"),
    ],
)
async def test_an_extender_that_fails_is_named_and_the_pod_backs_off(answer: Answer, expected: str) -> None:
    with serving({"filter": answer}) as extender:
        async with scheduling(asks(extender)) as scene:
            pod = scene.add("p")
            await scene.until(lambda: scene.place(pod) is QueuePlace.BACKOFF)
            scene.queue.remove(pod.uid)
            text = await message(scene)
            assert extender.url in text
            assert expected in text
            assert (await scene.conditions())[0][0] == "SchedulerError"


async def test_a_pod_comes_again_after_an_extender_failed() -> None:
    with serving({"filter": lambda _: Raw(500)}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.add("p")
            await scene.until(lambda: extender.received)
            extender.answers["filter"] = keeps("c")
            await scene.until(lambda: scene.binds.bound == [("p", "c")])


async def test_an_extender_that_takes_too_long_is_named_while_all_else_goes_on() -> None:
    with serving({}) as extender:
        extender.answers["filter"] = lambda _: extender.released.wait(30)
        async with scheduling(asks(extender, filterVerb="filter", httpTimeout="50ms")) as scene:
            scene.add("p")
            assert f"{extender.url}/filter: no answer within 0.05 s" in await message(scene)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense"])
async def test_an_extender_that_cannot_be_reached_is_named(url: str) -> None:
    async with scheduling({"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True}) as scene:
        scene.add("p")
        assert f"failed filter with extender at URL {url}/filter: " in await message(scene)


async def test_one_that_may_be_ignored_is_asked_last_and_passed_over() -> None:
    with serving({"filter": lambda _: Raw(503)}) as broken, serving({"filter": keeps("a", "b")}) as sound:
        async with scheduling(asks(broken, ignorable=True), asks(sound)) as scene:
            scene.add("p")
            await scene.until(lambda: scene.binds.bound)
        assert broken.questions("filter")[0]["NodeNames"] == ["a", "b"]


@pytest.mark.parametrize(("verb", "answer"), [("filter", keeps("b")), ("prioritize", prefers("b"))])
async def test_nobody_is_passed_over_because_the_api_server_stumbles(verb: str, answer: Answer) -> None:
    with serving({verb: answer}) as extender:
        async with scheduling(asks(extender, ignorable=True, weight=1000)) as scene:
            scene.script.otherwise = _stumbles
            scene.add("p")
            text = await message(scene)
            assert text == "pod default/p, about which an extender is to be asked, cannot be read: 500: no"
            scene.script.otherwise = _api
            await scene.until(lambda: scene.binds.bound)
            assert scene.binds.bound == [("p", "b")]


async def test_scores_that_cannot_be_had_count_nothing() -> None:
    with serving({"prioritize": lambda _: Raw(500)}) as broken, serving({"prioritize": prefers("b")}) as sound:
        async with scheduling(asks(broken), asks(sound, weight=1000)) as scene:
            scene.add("p")
            await scene.until(lambda: scene.binds.bound)
            assert scene.binds.bound == [("p", "b")]


async def test_keys_of_answers_are_read_in_any_case() -> None:
    with serving({"filter": lambda _: {"nodenames": ["b"], "failedNodes": None}}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.add("p")
            await scene.until(lambda: scene.binds.bound)
            assert scene.binds.bound == [("p", "b")]


# What changes while an extender thinks.


class Thinking:
    """An extender that is in the middle of an answer to ``verb``."""

    def __init__(self, extender: ExtenderServer, verb: str, answer: Answer) -> None:
        self._loop = asyncio.get_running_loop()
        self.asked = asyncio.Event()
        self._go_on = asyncio.Event()
        self._answer = answer
        extender.answers[verb] = self._think

    def _think(self, question: Object) -> Any:
        self._loop.call_soon_threadsafe(self.asked.set)
        asyncio.run_coroutine_threadsafe(self._go_on.wait(), self._loop).result(30)
        return self._answer(question)

    def answers(self) -> None:
        self._go_on.set()


async def test_what_others_do_while_an_extender_thinks_makes_no_pod_slow_also_if_it_fails() -> None:
    with serving({}) as extender:
        thinking = Thinking(extender, "filter", lambda _: Raw(500))
        async with scheduling(asks(extender, filterVerb="filter")) as scene:
            pod = scene.add("p")
            await thinking.asked.wait()
            began = thread_time()
            while thread_time() - began < 2 * SLOW_SECONDS:
                pass
            thinking.answers()
            await scene.until(lambda: scene.place(pod) is QueuePlace.BACKOFF)
            assert 'berth_slow_attempts_total{profile="test"} 0' in scene.metrics.text()


async def test_a_pod_that_it_has_no_say_in_does_not_wait_while_an_extender_thinks() -> None:
    gpu = "example.com/gpu"
    with serving({}) as extender:
        thinking = Thinking(extender, "filter", keeps("a"))
        async with scheduling(asks(extender, filterVerb="filter", managedResources=[{"name": gpu}])) as scene:
            scene.cache.set_node(testing.node("a", {"cpu": "4", gpu: "1", "pods": "110"}))
            scene.queue.add(testing.pod("p", {gpu: "1"}, schedulerName="test"), "test", 0.0)
            await thinking.asked.wait()
            scene.add("q")
            await scene.until(lambda: [name for name, _ in scene.binds.bound] == ["q"])
            thinking.answers()
            await scene.until(lambda: ("p", "a") in scene.binds.bound)


async def test_the_others_that_it_has_a_say_in_come_to_their_turn_afterwards_in_order() -> None:
    with serving({}) as extender:
        thinking = Thinking(extender, "filter", keeps("a", "b", "c"))
        async with scheduling(asks(extender, filterVerb="filter")) as scene:
            scene.add("p")
            await thinking.asked.wait()
            scene.add("low", priority=1)
            gone = scene.add("gone", priority=5)
            await asyncio.sleep(0)  # the loop has come by, and holds them
            scene.add("high", priority=9)
            scene.queue.remove(gone.uid)
            thinking.answers()
            await scene.until(lambda: len(scene.binds.bound) == 3)
        assert [question["Pod"]["metadata"]["name"] for question in extender.questions("filter")] == [
            "p",
            "high",
            "low",
        ]


async def test_a_node_that_goes_while_an_extender_thinks_is_not_chosen() -> None:
    with serving({}) as extender:
        thinking = Thinking(extender, "filter", keeps("a", "b"))
        async with scheduling(asks(extender, filterVerb="filter")) as scene:
            scene.add("p")
            await thinking.asked.wait()
            scene.cache.remove_node("a")
            thinking.answers()
            await scene.until(lambda: scene.binds.bound)
            assert scene.binds.bound == [("p", "b")]


async def test_room_that_goes_while_an_extender_thinks_is_not_given_away_twice() -> None:
    with serving({}) as extender:
        thinking = Thinking(extender, "filter", keeps("a"))
        async with scheduling(asks(extender, filterVerb="filter")) as scene:
            pod = scene.add("p", cpu="3")
            await thinking.asked.wait()
            scene.cache.add(testing.pod("other", {"cpu": "3"}, nodeName="a"))
            thinking.answers()
            await scene.until(lambda: scene.place(pod) is QueuePlace.PARKED)
            assert "1 Insufficient cpu" in await message(scene)


async def test_a_node_that_comes_to_be_feasible_meanwhile_is_asked_about_before_the_pod_is_given_up() -> None:
    with serving({}) as extender:
        thinking = Thinking(extender, "filter", keeps("d"))
        async with scheduling(asks(extender, filterVerb="filter")) as scene:
            scene.add("p")
            await thinking.asked.wait()
            scene.cache.set_node(testing.node("d", cpu="4"))
            thinking.answers()
            await scene.until(lambda: scene.binds.bound == [("p", "d")])
        assert [len(question["NodeNames"]) for question in extender.questions("filter")] == [3, 4]


@pytest.mark.parametrize("answer", [keeps("a"), lambda _: Raw(500)])
async def test_a_pod_that_goes_while_an_extender_thinks_is_forgotten(answer: Answer) -> None:
    with serving({}) as extender:
        thinking = Thinking(extender, "filter", answer)
        async with scheduling(asks(extender, filterVerb="filter")) as scene:
            pod = scene.add("p")
            await thinking.asked.wait()
            scene.queue.remove(pod.uid)
            extender.answers["filter"] = keeps("a")
            scene.add("q")
            thinking.answers()
            await scene.until(lambda: scene.binds.bound == [("q", "a")])
            assert await scene.events() == [("Scheduled", "Successfully assigned default/q to a")]


async def test_a_pod_that_is_being_deleted_by_then_is_left_alone() -> None:
    with serving({}) as extender:
        thinking = Thinking(extender, "filter", keeps("a"))
        async with scheduling(asks(extender, filterVerb="filter")) as scene:
            pod = scene.add("p")
            await thinking.asked.wait()
            deleted = replace(pod, metadata=replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
            scene.queue.update(deleted, (), 0.0)
            thinking.answers()
            assert await message(scene) == "skip schedule deleting pod: default/p"
            assert scene.cpu == 0


async def test_another_profile_by_the_name_decides_anew() -> None:
    with serving({}) as extender:
        thinking = Thinking(extender, "filter", keeps("a"))
        async with scheduling(asks(extender, filterVerb="filter")) as scene:
            scene.add("p")
            await thinking.asked.wait()
            scene.frameworks["test"] = testing.framework(services=scene.services)
            scene.cache.remove_node("a")
            thinking.answers()
            await scene.until(lambda: scene.binds.bound)
            assert scene.binds.bound[0][1] in {"b", "c"}


# Binding.


async def test_the_one_that_binds_is_told_whom_and_nobody_else_binds() -> None:
    with serving({"bind": lambda _: {}}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.add("p", nodeSelector={"kubernetes.io/hostname": "b"})
            await scene.until(lambda: scene.script.requests("POST"))
            assert await scene.events() == [("Scheduled", "Successfully assigned default/p to b")]
            assert scene.binds.bound == []
        question = {"PodName": "p", "PodNamespace": "default", "PodUID": "uid-of-p", "Node": "b"}
        assert extender.received == [("bind", question)]


async def test_a_binding_that_an_extender_fails_gives_the_room_back() -> None:
    with serving({"bind": lambda _: {"Error": "no such device"}}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.add("p")
            assert await message(scene) == f"failed bind with extender at URL {extender.url}/bind: no such device"
            extender.answers["bind"] = lambda _: {}
            await scene.until(lambda: "Scheduled" in str(scene.script.requests("POST")[-1].body))


async def test_a_binding_whose_answer_is_lost_is_looked_up() -> None:
    with serving({"bind": lambda _: Raw(500)}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.binds.really_bound["p"] = "b"
            scene.add("p", nodeSelector={"kubernetes.io/hostname": "b"})
            await scene.until(lambda: scene.script.requests("POST"))
            assert await scene.events() == [("Scheduled", "Successfully assigned default/p to b")]


async def test_one_that_binds_and_may_be_ignored_is_stood_in_for() -> None:
    with serving({"bind": lambda _: Raw(500)}) as extender:
        async with scheduling(asks(extender, ignorable=True)) as scene:
            scene.add("p")
            await scene.until(lambda: scene.binds.bound)


async def test_nobody_is_told_to_bind_by_a_scheduler_that_does_not_lead() -> None:
    with serving({"bind": lambda _: {}}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.binds.fenced = True
            pod = scene.add("p")
            await scene.until(lambda: scene.place(pod) is QueuePlace.BACKOFF)
            scene.queue.remove(pod.uid)
        assert extender.received == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda question: {"FailedNodes": dict.fromkeys(question["NodeNames"], "x" * (3 << 20))}, id="one"),
        pytest.param(lambda _: {"FailedNodes": {name: name * (1 << 20) for name in NAMES}}, id="of-each-node"),
        pytest.param(lambda _: {"Error": "y" * (3 << 20)}, id="error"),
        pytest.param(lambda _: {"NodeNames": ["z" * (3 << 20)]}, id="unknown-node"),
    ],
)
async def test_a_reason_of_megabytes_is_cut_and_the_condition_written(answer: Answer) -> None:
    with serving({"filter": answer}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.add("p")
            await scene.until(lambda: scene.script.requests("PATCH"))
            (condition,) = scene.script.requests("PATCH")[0].body["status"]["conditions"]
            assert 100 < len(condition["message"]) < 4 * 1024


async def test_an_answer_that_nests_too_deep_is_an_answer_that_cannot_be_read() -> None:
    with serving({"filter": lambda _: Raw(200, b'{"x":' * 100_000 + b"1" + b"}" * 100_000)}) as extender:
        async with scheduling(asks(extender)) as scene:
            scene.add("p")
            assert "its answer cannot be read" in await message(scene)
