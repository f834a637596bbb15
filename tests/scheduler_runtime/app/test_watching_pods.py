"""A plugin that watches pods is woken by those without a node, of any scheduler; no other plugin is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Action, Answer, ClusterEvent, Cycle, NodeTable, Plugin, Pod, Reject, Watch
from scheduler_runtime.kube.watch import Change
from scheduler_runtime.reload.plan import DocumentText
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.scheduler_runtime.app.test_changed_document import Scene, bindings, document_text, scene
from tests.support.scripted import Script


class Pairs(Plugin):
    """Pods start in pairs."""

    pods = Watch("v1", "Pod", namespace="default")
    watches = (pods,)
    events = (ClusterEvent("Pod", Action.ALL),)

    def __init__(self, args: Any, handle: Any) -> None:
        self.handle = handle

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Reject | None:
        pair = [pod for pod in self.handle.list(self.pods) if pod.labels.get("pair") == "x"]
        return None if len(pair) == 2 else Reject.pod(f"{len(pair)} of 2 are there")

    def hint(self, event: Any, pod: Pod) -> Answer:
        return Answer.QUEUE


class Refuses(Plugin):
    """Nothing suits it, and it does not say that it watches pods."""

    events = (ClusterEvent("Pod", Action.ALL),)

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Reject | None:
        return Reject.pod("it is refused")


def paired(*names: str) -> DocumentText:
    enabled = [{"name": name} for name in names]
    return document_text(
        podInitialBackoffSeconds=1, profiles=[{"schedulerName": "a", "plugins": {"multiPoint": {"enabled": enabled}}}]
    )


def see(at: Scene, pod: Pod) -> None:
    """As the watch of pods shows it."""
    at.process.pods.objects[pod.key] = pod
    at.process.updates.pod(Change(None, pod))


def watches_pods(at: Scene) -> bool:
    return any(watch.kind == "Pod" for watch in at.process.objects.watches)


@pytest.mark.parametrize("scheduler", ["a", "somebody-else"])
async def test_a_pod_that_waits_for_its_sibling_is_tried_again_when_it_comes(tmp_path: Path, scheduler: str) -> None:
    script = Script()
    async with scene(tmp_path, paired("Pairs"), script, Pairs) as at:
        see(at, testing.pod("first", labels={"pair": "x"}, schedulerName="a"))
        await at.until(lambda: at.places() == {"first": QueuePlace.PARKED})
        see(at, testing.pod("second", labels={"pair": "x"}, schedulerName=scheduler))
        await at.until(lambda: any("/first/" in path for path in bindings(script)))


async def test_a_pod_of_another_namespace_than_is_watched_wakes_nobody(tmp_path: Path) -> None:
    async with scene(tmp_path, paired("Pairs"), Script(), Pairs) as at:
        see(at, testing.pod("first", labels={"pair": "x"}, schedulerName="a"))
        await at.until(lambda: at.places() == {"first": QueuePlace.PARKED})
        see(at, testing.pod("second", labels={"pair": "x"}, namespace="elsewhere"))
        assert at.places() == {"first": QueuePlace.PARKED}


async def test_a_plugin_that_does_not_watch_pods_is_not_woken_beside_one_that_does(tmp_path: Path) -> None:
    async with scene(tmp_path, paired("Refuses", "Pairs"), Script(), Pairs, Refuses) as at:
        see(at, testing.pod("first", schedulerName="a"))
        await at.until(lambda: at.places() == {"first": QueuePlace.PARKED})
        see(at, testing.pod("second"))
        assert at.places() == {"first": QueuePlace.PARKED}


async def test_who_comes_with_a_new_document_hears_of_pods_from_then_on(tmp_path: Path) -> None:
    async with scene(tmp_path, paired(), Script(), Pairs) as at:
        assert not watches_pods(at)
        await at.change(paired("Pairs"))
        assert watches_pods(at)
        await at.change(paired())
        assert not watches_pods(at)
