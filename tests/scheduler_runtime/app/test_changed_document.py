"""A scheduler process with a new document: what becomes of its pods, watches, extenders and memory."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
import yaml

from scheduler_runtime import config, testing
from scheduler_runtime.api import Answer, Plugin, Pod, Reject, Wait, Watch
from scheduler_runtime.app import memory
from scheduler_runtime.app.scheduler import Scheduler
from scheduler_runtime.framework import RegistrationError
from scheduler_runtime.kube.watch import Change
from scheduler_runtime.reload.document_sources import DocumentState, Notify
from scheduler_runtime.reload.plan import DocumentText, Plan, Planner
from scheduler_runtime.reload.reloader import DocumentSource
from scheduler_runtime.scheduling.pending import QueuePlace
from tests.support.extenders import keeps
from tests.support.extenders import serving as serving_extender
from tests.support.processes import assembled
from tests.support.scripted import Script, hangs, says, serving
from tests.support.tiny_cluster import TinyCluster

HEADER = {
    "apiVersion": config.API_VERSION,
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
}
HELD = {"plugins": {"permit": {"enabled": [{"name": "Holds"}]}}}


class Holds(Plugin):
    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return Wait(60)


class Unmade(Plugin):
    watches = (Watch("v1", "Pod"), Watch("v1", "Node", name="n"))

    def __init__(self, args: object, handle: object) -> None:
        raise ValueError("not here")

    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return Answer.ALLOW


class Watches(Plugin):
    watches = (Watch("v1", "ConfigMap", name="prices"),)

    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return Answer.ALLOW


def document_text(**fields: Any) -> DocumentText:
    profiles = fields.pop("profiles")
    return DocumentText(yaml.safe_dump({**HEADER, **fields, "profiles": profiles}))


class Scene:
    """A process at work on one node, without any watch."""

    def __init__(self, process: Scheduler, planner: Planner) -> None:
        self.process = process
        self._planner = planner
        process.nodes.objects["n"] = testing.node("n", cpu="4")
        process.updates.node(Change(None, process.nodes.objects["n"]))

    def add(self, name: str, scheduler: str) -> Pod:
        pod = testing.pod(name, {"cpu": "1"}, schedulerName=scheduler)
        self.process.pods.objects[pod.key] = pod
        self.process.updates.pod(Change(None, pod))
        return pod

    async def change(self, text: DocumentText) -> None:
        plan = await self._planner.plan(text)
        assert isinstance(plan, Plan), str(plan)
        self.process.reloader.commit(plan, await self.process.reloader.prepare(plan))

    @property
    def cpu(self) -> int:
        return int(self.process.cache.table.requested("cpu")[0])

    def places(self) -> dict[str, QueuePlace]:
        return {entry.pod.name: entry.place for entry in self.process.queue.entries()}

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(5):
            while not condition():  # noqa: ASYNC110  the condition is about many things, an event is about one
                await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def scene(
    directory: Path,
    first: DocumentText,
    script: Script,
    *plugins: type[Plugin],
    source: DocumentSource | None = None,
) -> AsyncIterator[Scene]:
    async with serving(script) as client:
        at = Scene(*await assembled(directory, first, client, (Holds, *plugins), source=source))
        deciding = asyncio.create_task(at.process.loop.run())
        try:
            yield at
        finally:
            deciding.cancel()
            await at.process.underway.finish(0)
            await asyncio.gather(deciding, return_exceptions=True)


def bindings(script: Script) -> list[str]:
    return [request.path for request in script.received if request.path.endswith("/binding")]


async def test_what_a_refused_document_would_have_watched_is_not_read(tmp_path: Path) -> None:
    refused = document_text(profiles=[{"plugins": {"permit": {"enabled": [{"name": "Unmade"}]}}}])
    async with scene(tmp_path, document_text(profiles=[{}]), Script(), Unmade) as at:
        before = at.process.objects.watches
        with pytest.raises(RegistrationError, match="not here"):
            await at.change(refused)
        assert at.process.objects.watches == before
        at.process.updates.pod(Change(None, testing.pod("a")))
        assert at.process.objects.revision(Watch("v1", "Pod")) == 0


async def test_a_part_that_cannot_get_ready_leaves_all_others_as_they_were(tmp_path: Path) -> None:
    """What plugins watch and what extenders read is listed already when a plugin cannot be created."""
    enabled = {"permit": {"enabled": [{"name": "Watches"}, {"name": "Unmade"}]}}
    extender = {"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter"}
    refused = document_text(profiles=[{"plugins": enabled}], extenders=[extender])
    script = Script(otherwise=TinyCluster().answer)
    async with scene(tmp_path, document_text(profiles=[{}]), script, Watches, Unmade) as at:
        process = at.process
        watches, frameworks = process.objects.watches, dict(process.frameworks)
        with pytest.raises(RegistrationError, match="not here"):
            await at.change(refused)
        assert {"/api/v1/configmaps", "/api/v1/nodes"} <= {request.path for request in script.received}
        await at.until(lambda: not any(task.get_name().startswith("watch ") for task in asyncio.all_tasks()))
        assert (process.objects.watches, process.extenders.reflectors) == (watches, ())
        assert dict(process.frameworks) == frameworks


class OneDocument:
    """A source with one new document."""

    def __init__(self, text: DocumentText) -> None:
        self._text = text

    async def watch(self, notify: Notify, current: DocumentState) -> None:
        notify(self._text)
        await asyncio.Event().wait()

    def locate(self, problem: str) -> str:
        return problem


async def test_a_process_that_shuts_down_while_new_watches_are_listed_ends_in_good_order(tmp_path: Path) -> None:
    new = document_text(profiles=[{"plugins": {"permit": {"enabled": [{"name": "Watches"}]}}}])
    script, stop = Script(otherwise=hangs), asyncio.Event()
    async with scene(tmp_path, document_text(profiles=[{}]), script, Watches, source=OneDocument(new)) as at:
        running = asyncio.create_task(at.process.run(stop))
        await at.until(lambda: "/api/v1/configmaps" in [request.path for request in script.received])
        stop.set()
        assert await running == 0


async def test_what_a_plugin_fails_in_is_logged_anew_after_a_new_document(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Fails(Plugin):
        def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
            raise ValueError("always this")

    profile = {"schedulerName": "a", "plugins": {"permit": {"enabled": [{"name": "Fails"}]}}}
    async with scene(tmp_path, document_text(profiles=[profile]), Script(), Fails) as at:
        for name, other in (("p", "b"), ("q", "c")):
            at.add(name, "a")
            await at.until(lambda: set(at.places().values()) == {QueuePlace.BACKOFF})
            await at.change(document_text(profiles=[profile, {"schedulerName": other}]))
    failures = [record for record in caplog.records if record.getMessage() == "deciding failed"]
    assert [bool(record.exc_info) for record in failures] == [True, True]


async def test_a_pod_that_waits_for_a_permit_of_a_profile_that_goes_gives_its_room_back(tmp_path: Path) -> None:
    script = Script()
    async with scene(tmp_path, document_text(profiles=[{"schedulerName": "a", **HELD}]), script) as at:
        at.add("p", "a")
        await at.until(lambda: at.cpu == 1000)
        await at.change(document_text(profiles=[{"schedulerName": "b"}]))
        await at.until(lambda: at.cpu == 0)
        assert (at.places(), bindings(script)) == ({}, [])


async def test_pods_whose_profile_goes_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with scene(tmp_path, document_text(profiles=[{"schedulerName": "a", **HELD}]), Script()) as at:
        at.add("p", "a")
        await at.change(document_text(profiles=[{"schedulerName": "b"}]))
        (line,) = [line for line in caplog.records if line.getMessage() == "pods wait for profiles that are gone"]
        assert (vars(line)["pods"], vars(line)["profiles"]) == (1, ["a"])


async def test_a_pod_that_waits_for_a_permit_survives_other_changes(tmp_path: Path) -> None:
    first = document_text(profiles=[{"schedulerName": "a", **HELD}])
    script = Script()
    async with scene(tmp_path, first, script) as at:
        at.add("p", "a")
        await at.until(lambda: at.cpu == 1000)
        await at.change(document_text(profiles=[{"schedulerName": "a", **HELD}, {"schedulerName": "b"}]))
        assert (at.cpu, at.places(), bindings(script)) == (1000, {"p": QueuePlace.IN_FLIGHT}, [])
        await at.change(document_text(profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}]))
        await at.until(lambda: bindings(script))


async def test_pods_that_were_nobodys_are_those_of_a_profile_that_comes(tmp_path: Path) -> None:
    script = Script()
    async with scene(tmp_path, document_text(profiles=[{"schedulerName": "a"}]), script) as at:
        at.add("p", "b")
        assert at.places() == {}
        await at.change(document_text(profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}]))
        await at.until(lambda: bindings(script))


async def test_a_pod_that_is_being_bound_is_bound_once_though_its_profile_goes_and_comes_back(tmp_path: Path) -> None:
    first = document_text(profiles=[{"schedulerName": "a"}])
    script = Script(otherwise=hangs)
    async with scene(tmp_path, first, script) as at:
        at.add("p", "a")
        await at.until(lambda: bindings(script))
        await at.change(document_text(profiles=[{"schedulerName": "b"}]))
        assert at.places() == {}
        await at.change(first)
        await asyncio.sleep(0.05)
        assert (at.cpu, at.places(), len(bindings(script))) == (1000, {"p": QueuePlace.BINDING}, 1)


@pytest.mark.parametrize("is_refused", [False, True])
async def test_the_memory_of_replaced_profiles_is_freed(
    is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Remembers(Plugin):
        instances: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()

        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, handle)
            self.itself = self
            self.instances.add(self)

        def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
            return Answer.ALLOW

    both = {"plugins": {"permit": {"enabled": [{"name": "Remembers"}, {"name": "Unmade"}]}}}
    monkeypatch.setattr(memory, "RELEASE_SECONDS", 0.01)
    first = document_text(profiles=[{"plugins": {"permit": {"enabled": [{"name": "Remembers"}]}}}])
    async with scene(tmp_path, first, Script(), Remembers, Unmade) as at:
        if is_refused:
            with pytest.raises(RegistrationError, match="not here"):
                await at.change(document_text(profiles=[both]))
        else:
            await at.change(document_text(profiles=[{}]))
        await at.until(lambda: len(Remembers.instances) == is_refused)


async def test_events_are_posted_as_the_new_document_says(tmp_path: Path) -> None:
    async with scene(tmp_path, document_text(profiles=[{"schedulerName": "a"}]), Script()) as at:
        await at.change(DocumentText(document_text(profiles=[{"schedulerName": "a"}]).text, "events: None"))
        assert at.process.pod_events.mode == "None"


async def test_connections_to_an_extender_end_with_the_last_document_that_names_it(tmp_path: Path) -> None:
    profiles, script = [{"schedulerName": "a"}], Script()
    with serving_extender({"filter": keeps("n")}) as extender:
        asks = extender.configuration(nodeCacheCapable=True)
        script.otherwise = says({"metadata": {"name": "p", "uid": "uid-of-p"}})
        async with scene(tmp_path, document_text(profiles=profiles, extenders=[asks]), script) as at:
            at.process.cache.set_node(testing.node("m", cpu="4"))
            at.add("p", "a")
            await at.until(lambda: bindings(script))
            await at.change(document_text(profiles=[*profiles, {"schedulerName": "b"}], extenders=[asks]))
            assert len(extender.connected) == 1
            await at.change(document_text(profiles=profiles))
            await at.until(lambda: not extender.connected)
