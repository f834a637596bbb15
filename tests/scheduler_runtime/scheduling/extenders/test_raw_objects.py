"""Pods as the API server writes them: how often they are asked for, and what follows when they cannot be had."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest
from aiohttp import web
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.api import Pod
from scheduler_runtime.scheduling.extenders import RawObjectError, RawObjects, raw_objects
from scheduler_runtime.scheduling.extenders.raw_objects import READS
from tests.support.scripted import Answer, Script, hangs, refuses, says, serving


def pod(name: str, version: str = "1", node: str = "") -> Pod:
    plain = testing.pod(name, nodeName=node or f"node-of-{name}")
    return replace(plain, metadata=replace(plain.metadata, resource_version=version))


async def shows(request: web.Request) -> web.StreamResponse:
    name = request.path.rpartition("/")[2]
    return await says({"metadata": {"name": name, "uid": f"uid-of-{name}"}})(request)


async def test_a_pod_is_read_once_for_each_of_its_versions() -> None:
    script = Script(otherwise=shows)
    async with serving(script) as client:
        read = RawObjects(client)
        for versions in (("1", "1"), ("1", "1"), ("2", "1")):
            texts = await read.pods([pod(name, version) for name, version in zip("ab", versions, strict=True)])
            assert texts.keys() == {"uid-of-a", "uid-of-b"}
        await read.pod(pod("a", "2"))
    assert [request.path[-1] for request in script.received] == ["a", "b", "a"]


def lists_pods_of(nodes: Mapping[str, Sequence[str]]) -> Answer:
    """Lists the pods of the node that is asked about, and knows no other."""

    async def answer(request: web.Request) -> web.StreamResponse:
        names = nodes[request.query["fieldSelector"].removeprefix("spec.nodeName=")]
        items = [{"metadata": {"name": name, "uid": f"uid-of-{name}", "managedFields": []}} for name in names]
        return await says({"metadata": {"resourceVersion": "5"}, "items": items})(request)

    return answer


async def test_several_pods_of_a_node_are_read_with_one_request() -> None:
    script = Script(otherwise=lists_pods_of({"n": ["a", "b", "stranger"], "m": ["c"]}))
    pods = [pod("a", node="n"), pod("b", node="n"), pod("c", node="m"), pod("gone", node="m")]
    async with serving(script) as client:
        read = RawObjects(client)
        texts = await read.pods(pods)
        assert texts.keys() == {"uid-of-a", "uid-of-b", "uid-of-c"}
        assert json.loads(bytes(texts["uid-of-a"])) == {"metadata": {"name": "a", "uid": "uid-of-a"}}
        await read.pods(pods[:3])
    assert [request.path for request in script.received] == ["/api/v1/pods"] * 2


async def test_pods_on_their_way_are_told_of_though_their_bindings_have_landed_unseen() -> None:
    on_their_way = [testing.pod(name) for name in ("a", "b")]
    bound = says({"metadata": {"resourceVersion": "5"}, "items": []})

    async def answer(request: web.Request) -> web.StreamResponse:
        return await (bound if request.path == "/api/v1/pods" else shows)(request)

    async with serving(Script(otherwise=answer)) as client:
        assert (await RawObjects(client).pods(on_their_way)).keys() == {"uid-of-a", "uid-of-b"}


async def test_only_so_many_reads_are_under_way_at_a_time() -> None:
    under_way, most = 0, 0

    async def counts(request: web.Request) -> web.StreamResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return await shows(request)

    async with serving(Script(otherwise=counts)) as client:
        texts = await RawObjects(client).pods([pod(f"p{number}") for number in range(3 * READS)])
    assert (len(texts), most <= READS) == (3 * READS, True)


async def test_a_pod_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_objects, "READ_SECONDS", 0.05)
    async with serving(Script(otherwise=hangs)) as client:
        with pytest.raises(RawObjectError, match=r"cannot be read: no answer within 0\.05 s"):
            await RawObjects(client).pod(pod("a"))


@pytest.mark.parametrize("answer", [refuses(404), says({"metadata": {"name": "a", "uid": "of-another"}})])
async def test_pods_that_are_gone_are_not_told_of(answer: Answer) -> None:
    async with serving(Script([answer], otherwise=shows)) as client:
        assert (await RawObjects(client).pods([pod("a"), pod("b")])).keys() == {"uid-of-b"}
    async with serving(Script([answer])) as client:
        with pytest.raises(RawObjectError, match=r"^pod default/a, about which an extender is to be asked, is gone$"):
            await RawObjects(client).pod(pod("a"))


async def test_when_one_cannot_be_read_the_others_are_not_waited_for() -> None:
    async with serving(Script([hangs, refuses(500)], otherwise=hangs)) as client:
        before = asyncio.all_tasks()
        with pytest.raises(RawObjectError, match="cannot be read: 500"):
            await RawObjects(client).pods([pod(name) for name in "abc"])
        await asyncio.sleep(0)
        unfinished = [task for task in asyncio.all_tasks() - before if "RawObjects" in repr(task)]
        assert unfinished == []
