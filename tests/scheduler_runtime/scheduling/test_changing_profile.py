"""Pods on their way to a node when their profile gets other plugins."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Answer, Handle, Plugin, Pod, Reject, Wait
from scheduler_runtime.framework import Framework
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.support.scheduling import Scene, running

HOLDERS: list[Handle] = []
UNRESERVED: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    HOLDERS.clear()
    UNRESERVED.clear()


class Holds(Plugin):
    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        HOLDERS.append(handle)

    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return Wait(60)

    def unreserve(self, pod: Pod, node: str, state: Any) -> None:
        UNRESERVED.append(pod.name)

    def reserve(self, pod: Pod, node: str, state: Any) -> None:
        """Nothing is taken; what is given back tells who is asked to."""


def change(scene: Scene, *plugins: type[Plugin]) -> None:
    """Give the profile of the scene these plugins beside the default ones."""
    enabled = [{"name": plugin.__name__} for plugin in plugins]
    profile = {"plugins": {"multiPoint": {"enabled": enabled}}}
    framework: Framework = testing.framework(profile, *plugins, services=scene.services)
    framework.take_over_from(scene.frameworks["test"])
    scene.frameworks["test"] = framework
    scene.queue.change_profiles({"test"}, 0)


async def waits(scene: Scene, name: str) -> Pod:
    pod = scene.add(name)
    await scene.until(lambda: any(waiting.pod.uid == pod.uid for waiting in HOLDERS[0].waiting_pods()))
    return pod


async def test_the_new_object_of_a_plugin_grants_the_permits_that_the_old_one_withheld() -> None:
    async with running(Holds) as scene:
        await waits(scene, "a")
        change(scene, Holds)
        (waiting,) = HOLDERS[-1].waiting_pods()
        assert scene.binds.bound == []
        waiting.allow("Holds")
        await scene.until(lambda: scene.binds.bound == [("a", "n")])


async def test_a_plugin_that_was_removed_withholds_no_permit() -> None:
    async with running(Holds) as scene:
        pod = await waits(scene, "a")
        change(scene)
        await scene.until(lambda: scene.binds.bound == [("a", "n")])
        assert scene.place(pod) is QueuePlace.BINDING


async def test_a_pod_that_the_new_plugin_rejects_is_unreserved_by_the_one_that_reserved() -> None:
    async with running(Holds) as scene:
        pod = await waits(scene, "a")
        change(scene, Holds)
        (waiting,) = HOLDERS[-1].waiting_pods()
        waiting.reject("Holds", "no")
        await scene.until(lambda: UNRESERVED == ["a"])
        await scene.until(lambda: scene.place(pod) is QueuePlace.IN_FLIGHT)  # tried again at once, by the new plugins
        assert [waiting.pod.name for waiting in HOLDERS[-1].waiting_pods()] == ["a"]


async def test_a_pod_that_waits_is_assumed_all_the_while() -> None:
    async with running(Holds) as scene:
        await waits(scene, "a")
        change(scene, Holds)
        assert scene.cpu == 1000
