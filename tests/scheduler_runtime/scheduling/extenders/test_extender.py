"""Victims of a preemption, as far as extenders have a say."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from aiohttp import web

from scheduler_runtime import testing
from scheduler_runtime.scheduling.pending import QueuePlace
from scheduler_runtime.state.nominations import Nominations
from tests.support.extenders import Answer, ExtenderServer, Object, Raw, keeps, serving
from tests.support.scheduling import Scene, running
from tests.support.scripted import refuses, says

NAMES = ("a", "b", "c")


async def _api(request: web.Request) -> web.StreamResponse:
    name = request.path.rpartition("/")[2]
    return await says({"metadata": {"name": name, "uid": f"uid-of-{name}"}, "spec": {"of": name}})(request)


@contextlib.asynccontextmanager
async def full(*extenders: Mapping[str, Any]) -> AsyncIterator[Scene]:
    """A scheduler of three nodes, each with a pod that takes all of it: on-a, on-b and on-c."""
    async with running(extenders=extenders) as scene:
        scene.script.otherwise = _api
        scene.cache.remove_node("n")
        for name in NAMES:
            scene.cache.set_node(testing.node(name, cpu="4"))
            scene.cache.add(testing.pod(f"on-{name}", {"cpu": "4"}, nodeName=name))
        yield scene


def asks(extender: ExtenderServer, **fields: Any) -> Object:
    return extender.configuration(nodeCacheCapable=True, **fields)


def only(*nodes: str) -> Answer:
    """Agrees to what is asked on these nodes."""
    return lambda question: {
        "NodeNameToMetaVictims": {
            node: victims for node, victims in question["NodeNameToMetaVictims"].items() if node in nodes
        }
    }


def says_of_b(*uids: str) -> Answer:
    return lambda _: {"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": uid} for uid in uids]}}}


def agrees(question: Object) -> Object:
    """To all victims, which it was told as objects."""
    text = question["NodeNameToVictims"].items()
    uids = {node: [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]] for node, victims in text}
    return {"NodeNameToMetaVictims": {node: {"Pods": pods} for node, pods in uids.items()}}


async def nominated(scene: Scene) -> str:
    """The node that an urgent pod is nominated to once it is known that it fits nowhere; empty for none."""
    pod = scene.add("urgent", cpu="4", priority=100)
    await scene.until(lambda: scene.place(pod) in {QueuePlace.PARKED, QueuePlace.GATED, QueuePlace.BACKOFF})
    nominations: Nominations = scene.services.nominations
    node = nominations.node_of(pod)
    scene.queue.remove(pod.uid)
    return node


async def note(scene: Scene) -> str:
    await scene.until(lambda: scene.script.requests("POST"))
    return (await scene.events())[0][1]


async def test_victims_are_told_by_uid_to_one_that_knows_the_nodes_and_its_choice_stands() -> None:
    with serving({"preempt": only("b")}) as extender:
        async with full(asks(extender)) as scene:
            assert await nominated(scene) == "b"
        (question,) = extender.questions("preempt")
        assert question["NodeNameToMetaVictims"] == {
            name: {"Pods": [{"UID": f"uid-of-on-{name}"}], "NumPDBViolations": 0} for name in NAMES
        }
        assert question["NodeNameToVictims"] is None


async def test_victims_are_told_as_they_are_written_to_one_that_does_not() -> None:
    with serving({"preempt": says_of_b("uid-of-on-b")}) as extender:
        async with full(extender.configuration()) as scene:
            assert await nominated(scene) == "b"
        (question,) = extender.questions("preempt")
        assert question["NodeNameToMetaVictims"] is None
        assert [pod["spec"] for pod in question["NodeNameToVictims"]["c"]["Pods"]] == [{"of": "on-c"}]


async def test_victims_that_are_gone_are_left_out_and_so_are_nodes_without_others() -> None:
    async def without_b(request: web.Request) -> web.StreamResponse:
        return await (refuses(404) if request.path.endswith("/on-b") else _api)(request)

    with serving({"preempt": agrees}) as extender:
        async with full(extender.configuration()) as scene:
            scene.script.otherwise = without_b
            assert await nominated(scene) in {"a", "c"}
        (question,) = extender.questions("preempt")
        assert sorted(question["NodeNameToVictims"]) == ["a", "c"]


async def test_nobody_is_preempted_without_the_say_of_one_that_cannot_be_told_of_the_victims() -> None:
    async def without_victims(request: web.Request) -> web.StreamResponse:
        return await (refuses(500) if "/on-" in request.path else _api)(request)

    with serving({"preempt": says_of_b("uid-of-on-b")}) as extender:
        async with full(extender.configuration(ignorable=True)) as scene:
            scene.script.otherwise = without_victims
            assert await nominated(scene) == ""
            assert "about which an extender is to be asked, cannot be read: 500" in await note(scene)
        assert extender.received == []


async def test_the_next_one_is_asked_about_what_those_before_left() -> None:
    with serving({"preempt": only("b", "c")}) as first, serving({"preempt": only("a", "c")}) as second:
        async with full(asks(first), asks(second)) as scene:
            assert await nominated(scene) == "c"
        assert sorted(second.questions("preempt")[0]["NodeNameToMetaVictims"]) == ["b", "c"]


async def test_nobody_is_preempted_where_no_node_is_left() -> None:
    with serving({"preempt": only()}) as extender:
        async with full(asks(extender)) as scene:
            assert await nominated(scene) == ""
            assert (await note(scene)).endswith(" preemption: no candidate node for preemption")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(lambda _: Raw(500), "failed preempt with extender at URL {url}/preempt, code 500", id="refused"),
        pytest.param(
            says_of_b("nobody"),
            "extender: {url} claims to preempt pod (UID: nobody) on node: b, but the pod is not found on that node",
            id="an-unknown-pod",
        ),
        pytest.param(says_of_b(), 'expected at least one victim pod on node "b"', id="no-victim"),
        pytest.param(
            lambda _: {"NodeNameToMetaVictims": {"z": {"Pods": [{"UID": "x"}]}}},
            "extender: {url} claims to preempt pods on node: z, which is not there",
            id="an-unknown-node",
        ),
    ],
)
async def test_what_keeps_one_from_answering_is_told_with_the_rest(answer: Answer, expected: str) -> None:
    with serving({"preempt": answer}) as extender:
        async with full(asks(extender)) as scene:
            assert await nominated(scene) == ""
            text = await note(scene)
            assert text.startswith("0/3 nodes are available: 3 Insufficient cpu. ")
            assert expected.format(url=extender.url) in text.partition("preemption: ")[2]


async def test_one_that_may_be_ignored_and_fails_has_no_say() -> None:
    with serving({"preempt": lambda _: Raw(500)}) as broken, serving({"preempt": only("a")}) as sound:
        async with full(asks(broken, ignorable=True), asks(sound)) as scene:
            assert await nominated(scene) == "a"


async def test_a_victim_that_went_while_an_extender_thought_is_not_preempted() -> None:
    with serving({}) as extender:
        async with full(asks(extender, preemptVerb="preempt")) as scene:

            def too_late(question: Object) -> Object:
                scene.cache.remove("uid-of-on-b")
                scene.cache.add(testing.pod("new", {"cpu": "4"}, nodeName="b", priority=1000))
                answer: Object = only("b")(question)
                return answer

            extender.answers["preempt"] = too_late
            assert await nominated(scene) == ""


async def test_the_nominated_node_is_asked_about_first_and_alone() -> None:
    with serving({"filter": keeps("a", "b")}) as extender:
        async with full(asks(extender)) as scene:
            for name in NAMES:
                scene.cache.remove(f"uid-of-on-{name}")
            scene.services.nominations.nominate(testing.pod("p", {"cpu": "1"}, schedulerName="test"), "b")
            scene.add("p")
            await scene.until(lambda: scene.binds.bound == [("p", "b")])
        assert [question["NodeNames"] for question in extender.questions("filter")] == [["b"]]


@pytest.mark.parametrize(
    "answer", [keeps("a"), lambda question: Raw(500) if len(question["NodeNames"]) == 1 else keeps("a")(question)]
)
async def test_where_it_does_not_do_the_others_are_asked_about(answer: Answer) -> None:
    with serving({"filter": answer}) as extender:
        async with full(asks(extender)) as scene:
            for name in NAMES:
                scene.cache.remove(f"uid-of-on-{name}")
            scene.services.nominations.nominate(testing.pod("p", {"cpu": "1"}, schedulerName="test"), "b")
            scene.add("p")
            await scene.until(lambda: scene.binds.bound == [("p", "a")])
        assert [len(question["NodeNames"]) for question in extender.questions("filter")] == [1, 3]
