"""Objects that plugins watch: readable by them, and waking the pods that wait for a change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.api import Action, Event, Watch
from scheduler_runtime.kube.watch import Change, Reflector
from scheduler_runtime.scheduling.watched_objects import POD, WatchedObjects, WatchRevisions
from scheduler_runtime.state.objects import Pod, ResizeRules, Service
from scheduler_runtime.state.objects.kinds import pods as pods_of
from tests.support.scripted import Script, listed, serving, watched

Object = dict[str, Any]
SERVICES = Watch("v1", "Service")
PRICES = Watch("example.com/v1", "PriceList", name="prices")


def an_object(name: str, version: int, **fields: Any) -> Object:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, **fields}


@contextlib.asynccontextmanager
async def watching(watch: Watch, script: Script, received: list[Event], events: int) -> AsyncIterator[WatchedObjects]:
    """The objects of ``watch`` once that many events were told."""
    enough = asyncio.Event()

    def take(event: Event) -> None:
        received.append(event)
        if len(received) >= events:
            enough.set()

    async with serving(script) as client:
        objects = WatchedObjects([watch, watch], client, take)
        (reflector,) = objects.reflectors
        task = asyncio.create_task(reflector.run())
        async with asyncio.timeout(5):
            await enough.wait()
        yield objects
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_kind_with_a_struct_is_decoded_and_its_changes_are_events() -> None:
    before, after = an_object("a", 1, spec={"selector": {"app": "a"}}), an_object("a", 12, spec={"selector": None})
    script = Script([listed(before), watched(("MODIFIED", after), ("ADDED", an_object("b", 13)), ("DELETED", after))])
    received: list[Event] = []
    async with watching(SERVICES, script, received, 4) as objects:
        assert [item.metadata.name for item in objects.list(SERVICES)] == ["b"]
        assert objects.find(SERVICES, "b", "default").metadata.uid == "uid-b"
        assert objects.find(SERVICES, "a", "default") is None
        assert objects.revision(SERVICES) == 4
    assert [(event.resource, event.action) for event in received] == [
        ("Service", Action.ADD),
        ("Service", Action.UPDATE),
        ("Service", Action.ADD),
        ("Service", Action.DELETE),
    ]
    assert isinstance(received[1].old, Service)
    assert received[1].old.spec.selector == {"app": "a"}


async def test_any_other_kind_comes_as_it_is_and_is_requested_by_its_name() -> None:
    script = Script([listed(an_object("prices", 1, data={"large": 2})), watched()])
    received: list[Event] = []
    async with watching(PRICES, script, received, 1) as objects:
        assert objects.get(PRICES)["data"] == {"large": 2}
    assert received[0].resource == "example.com/PriceList"
    assert script.received[0].path == "/apis/example.com/v1/pricelists"


async def test_a_change_of_what_nobody_reads_is_no_event() -> None:
    quiet = an_object("a", 11, status={"loadBalancer": {}})
    script = Script([listed(an_object("a", 1)), watched(("MODIFIED", quiet), ("ADDED", an_object("b", 12)))])
    received: list[Event] = []
    async with watching(SERVICES, script, received, 2) as objects:
        assert objects.revision(SERVICES) == 2
        assert [event.action for event in received] == [Action.ADD, Action.ADD]


async def test_what_the_scheduler_follows_itself_is_read_there_and_watched_only_once() -> None:
    changes = list[Change[Pod]]()
    everywhere, here = Watch("v1", "Pod"), Watch("v1", "Pod", namespace="default")
    elsewhere = {"metadata": {"name": "a", "namespace": "shop", "uid": "uid-shop-a", "resourceVersion": "2"}}
    async with serving(Script([listed(an_object("a", 1), an_object("b", 3), elsewhere), watched()])) as client:
        pods = Reflector(pods_of(ResizeRules()), client, changes.append)
        objects = WatchedObjects([everywhere, here, SERVICES], client, lambda _: None, {POD: pods})
        assert [reflector.kind.path for reflector in objects.reflectors] == ["/api/v1/services"]
        task = asyncio.create_task(pods.run())
        async with asyncio.timeout(5):
            await pods.synced.wait()
        task.cancel()
        assert [pod.key for pod in objects.list(everywhere)] == ["default/a", "default/b", "shop/a"]
        assert [pod.key for pod in objects.list(here)] == ["default/a", "default/b"]
        assert objects.find(everywhere, "a", "shop") is changes[2].new
        assert objects.find(here, "a", "shop") is None
        assert objects.find(everywhere, "c", "shop") is None
        assert objects.create_reflectors([here]) == {}
        await asyncio.gather(task, return_exceptions=True)


async def test_of_what_the_scheduler_follows_itself_those_changes_count_that_a_plugin_sees() -> None:
    everywhere, here = Watch("v1", "Pod"), Watch("v1", "Pod", namespace="shop")
    pod = testing.pod("a", {"cpu": "1"})
    rewritten = replace(pod, metadata=replace(pod.metadata, resource_version="9"))
    moved = testing.pod("a", {"cpu": "1"}, nodeName="n")
    async with serving(Script()) as client:
        pods = Reflector(pods_of(ResizeRules()), client, lambda _: None)
        revisions = WatchRevisions()
        objects = WatchedObjects([everywhere, here], client, lambda _: None, {POD: pods}, revisions)
        for change, expected in (
            (Change(None, pod), True),
            (Change(pod, rewritten), False),
            (Change(pod, moved), True),
        ):
            assert revisions.count_change(POD, change) is expected
        assert (objects.revision(everywhere), objects.revision(here)) == (2, 0)
        objects.keep_only([here])
        assert not revisions.count_change(POD, Change(moved, None))
        assert objects.watches == {here}


async def test_plugins_of_a_pod_on_its_way_read_pods_and_nodes_also_when_no_others_do_any_more() -> None:
    watch = Watch("v1", "Pod")
    async with serving(Script()) as client:
        pods = Reflector(pods_of(ResizeRules()), client, lambda _: None)
        pod = pods.objects["default/a"] = testing.pod("a")
        revisions = WatchRevisions()
        objects = WatchedObjects([watch], client, lambda _: None, {POD: pods}, revisions)
        revisions.count_change(POD, Change(None, pod))
        objects.keep_only([])
        assert objects.revision(watch) == 0
        assert list(objects.list(watch)) == [objects.find(watch, "a", "default")] == [pod]


async def test_who_goes_through_a_list_and_waits_meanwhile_is_not_disturbed_by_changes() -> None:
    async with serving(Script()) as client:
        pods = Reflector(pods_of(ResizeRules()), client, lambda _: None)
        pods.objects["default/a"] = testing.pod("a")
        objects = WatchedObjects([SERVICES], client, lambda _: None, {("v1", "Pod"): pods})
        items = iter(objects.list(Watch("v1", "Pod")))
        pods.objects["default/b"] = testing.pod("b")
        assert [item.name for item in items] == ["a"]


async def test_an_object_that_is_not_there_is_none() -> None:
    async with serving(Script()) as client:
        assert WatchedObjects([PRICES], client, lambda _: None).get(PRICES) is None
