"""Pods as the API server writes them: how often they are asked for, and what follows when they cannot be had."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.api import Pod
from scheduler_runtime.extenders import OriginalError, Originals
from tests.support.scripted import Answer, Script, hangs, refuses, says, serving


def pod(name: str, version: str = "1") -> Pod:
    made = testing.pod(name)
    return replace(made, metadata=replace(made.metadata, resource_version=version))


async def shows(request: web.Request) -> web.StreamResponse:
    name = request.path.rpartition("/")[2]
    return await says({"metadata": {"name": name, "uid": f"uid-of-{name}"}})(request)


async def test_a_pod_is_read_once_for_each_of_its_versions() -> None:
    script = Script(otherwise=shows)
    async with serving(script) as client:
        originals = Originals(client)
        for versions in (("1", "1"), ("1", "1"), ("2", "1")):
            told = await originals.pods([pod(name, version) for name, version in zip("ab", versions, strict=True)])
            assert told.keys() == {"uid-of-a", "uid-of-b"}
        await originals.pod(pod("a", "2"))
    assert [asked.path[-1] for asked in script.asked] == ["a", "b", "a"]


@pytest.mark.parametrize("answer", [refuses(404), says({"metadata": {"name": "a", "uid": "of-another"}})])
async def test_pods_that_are_gone_are_not_told_of(answer: Answer) -> None:
    async with serving(Script([answer], otherwise=shows)) as client:
        assert (await Originals(client).pods([pod("a"), pod("b")])).keys() == {"uid-of-b"}
    async with serving(Script([answer])) as client:
        with pytest.raises(OriginalError, match=r"^pod default/a, of which an extender is to be told, is gone$"):
            await Originals(client).pod(pod("a"))


async def test_when_one_cannot_be_read_the_others_are_not_waited_for() -> None:
    async with serving(Script([hangs, refuses(500)], otherwise=hangs)) as client:
        before = asyncio.all_tasks()
        with pytest.raises(OriginalError, match="cannot be read: 500"):
            await Originals(client).pods([pod(name) for name in "abc"])
        await asyncio.sleep(0)
        left = [task for task in asyncio.all_tasks() - before if "Originals" in repr(task)]
        assert left == []
