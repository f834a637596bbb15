"""An object that cannot be read is named once, and holds up no other."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from scheduler_runtime.kube.watch import reflector
from scheduler_runtime.kube.watch.unreadable import Unreadable, read_page
from scheduler_runtime.state.objects import Pod, ResizeRules, decode_pod, decode_pod_list
from scheduler_runtime.state.objects.kinds import pods
from tests.scheduler_runtime.kube.watch.scripted import (
    WatchScript,
    levels,
    line,
    listed,
    node,
    refused,
    streamed,
    watching,
)


def odd(name: str, version: int, uid: str = "") -> dict[str, Any]:
    """A node as a careless proxy writes it."""
    return {**node(name, version, uid), "spec": {"taints": None}}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def warning_about(name: str) -> str:
    return (
        f"/api/v1/nodes: {name} cannot be read; the last version that could be read stays in use, if there was one: "
        "Expected `array`, got `null` - at `$.spec.taints`"
    )


async def test_the_others_of_its_list_are_read(caplog: pytest.LogCaptureFixture) -> None:
    async with watching(listed(10, node("a", 1), odd("b", 2), node("c", 3))) as watched:
        await watched.until(watched.reflector.synced.is_set)
    assert watched.copy == {"uid-a": 1, "uid-c": 3}
    assert warnings(caplog) == [warning_about("b")]


async def test_the_lines_after_it_are_read_and_it_is_not_requested_again(caplog: pytest.LogCaptureFixture) -> None:
    lines = [line("ADDED", odd("b", 11)), line("MODIFIED", odd("b", 12)), line("ADDED", node("c", 13))]
    script = WatchScript(
        [listed(10, node("a", 1)), streamed(*lines), streamed(line("MODIFIED", odd("b", 14)), hold=True)]
    )
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "14")
    assert watched.changes == [("added", "a"), ("added", "c")]
    assert script.requests[2]["resourceVersion"] == "13"
    assert warnings(caplog) == [warning_about("b")]


async def test_it_is_reported_when_it_can_be_read(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    mended = streamed(line("MODIFIED", node("b", 11)), hold=True)
    async with watching(listed(10, odd("b", 2)), mended) as watched:
        await watched.until(lambda: watched.copy == {"uid-b": 11})
    assert levels(caplog, "b cannot be read") == ["WARNING", "INFO"]


@pytest.mark.parametrize("source", ["watch", "list"])
async def test_its_last_readable_state_holds_until_it_goes(source: str) -> None:
    unreadable = [streamed(line("MODIFIED", odd("a", 11)))]
    if source == "list":
        unreadable = [refused(410), listed(11, odd("a", 11))]
    script = WatchScript([listed(10, node("a", 1)), *unreadable])
    go = asyncio.Event()

    async def deletes(request: Any) -> Any:
        await go.wait()
        return await streamed(line("DELETED", odd("a", 12)), hold=True)(request)

    script.answers.append(deletes)
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "11")
        assert watched.copy == {"uid-a": 1}
        go.set()
        await watched.until(lambda: watched.copy == {})


async def test_another_object_of_its_name_is_removed() -> None:
    async with watching(
        listed(10, node("a", 1)), streamed(line("ADDED", odd("a", 12, "second")), hold=True)
    ) as watched:
        await watched.until(lambda: watched.changes == [("added", "a"), ("deleted", "a")])


def without_uid(name: str, version: int) -> dict[str, Any]:
    item = odd(name, version)
    item["metadata"]["uid"] = 7
    return item


@pytest.mark.parametrize("source", ["watch", "list"])
async def test_its_last_readable_state_holds_also_if_its_uid_cannot_be_found(source: str) -> None:
    unreadable = [streamed(line("MODIFIED", without_uid("a", 11)), hold=True)]
    if source == "list":
        unreadable = [refused(410), listed(11, without_uid("a", 11))]
    async with watching(listed(10, node("a", 1)), *unreadable) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "11")
        assert watched.changes == [("added", "a")]
        assert watched.reflector.set_aside.keys() == {"a"}


@pytest.mark.parametrize("exists", [True, False])
async def test_whether_it_was_deleted_is_seen_in_a_list_if_its_uid_cannot_be_found(
    exists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "RELIST_SECONDS", 0)
    gone = streamed(line("DELETED", without_uid("a", 11)))
    async with watching(listed(10, node("a", 1)), gone, listed(12, *([node("a", 1)] if exists else []))) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "12")
        assert watched.copy == ({"uid-a": 1} if exists else {})


async def test_the_failure_of_an_object_that_vanishes_unread_is_over(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with watching(listed(10, odd("a", 1)), refused(410), listed(20)) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "20")
    assert levels(caplog, "a cannot be read") == ["WARNING", "INFO"]


@pytest.mark.parametrize(
    "spec",
    [{"tolerations": None}, {"tolerations": [{"operator": None}]}, {"containers": [{"name": 5}]}, {"priority": ""}],
)
def test_a_page_of_pods_has_those_that_can_be_read(spec: dict[str, Any]) -> None:
    items = [{"metadata": {"name": name, "namespace": "n"}, "spec": spec if name == "b" else {}} for name in "abc"]
    text = msgspec.json.encode({"metadata": {"continue": "x"}, "items": items})
    page = read_page(text, decode_pod_list, decode_pod)
    assert [type(item) for item in page.items] == [Pod, Unreadable, Pod]
    kind = pods(ResizeRules())
    assert [kind.key(item) for item in page.items] == ["n/a", "n/b", "n/c"]
    assert page.metadata.continue_token == "x"
    with pytest.raises(msgspec.ValidationError):
        kind.read_item(msgspec.Raw(msgspec.json.encode(items[1])))
