"""A list is read in parts while it comes, and the same comes of it wherever the parts end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from scheduler_runtime.kube.watch import Reflector, lists
from scheduler_runtime.kube.watch.kinds import ListPage, read_items
from scheduler_runtime.state.objects.kinds import NODES
from tests.scheduler_runtime.kube.watch.scripted import (
    Answer,
    WatchScript,
    levels,
    line,
    listed,
    node,
    refused,
    serving,
    streamed,
    watching,
)

MISLEADING = {
    "apart": '}]},{"metadata":{"name":"nobody"}}',
    "nested": [{"metadata": {"name": "x"}}, {"metadata": {"name": "y"}}],
    "deep": {"items": [{"metadata": {}}, {"metadata": {"a": [{}, {}]}}]},
}
"""Where an item could seem to end, and does not."""
ITEMS = [{**node(name, number), "spec": {"odd": MISLEADING}} for number, name in enumerate("abcdefg")]
ENVELOPES = {
    "metadata-first": {"kind": "NodeList", "metadata": {"resourceVersion": "10"}, "items": ITEMS},
    "metadata-last": {"items": ITEMS, "kind": "NodeList", "metadata": {"resourceVersion": "10"}},
}


def metadata_first(item: dict[str, Any]) -> dict[str, Any]:
    """As the API server writes an item of a list: without its kind."""
    return {"metadata": item["metadata"], **{name: item[name] for name in item if name not in ("metadata", "kind")}}


def text_of(envelope: dict[str, Any]) -> bytes:
    whole = {**envelope, "items": [metadata_first(item) for item in envelope["items"]]}
    return json.dumps(whole, separators=(",", ":")).encode()


async def read(*answers: Answer) -> list[ListPage[Any]]:
    async with serving(WatchScript(list(answers))) as client:
        listed = lists.stream_list(client, "/api/v1/nodes", {}, lambda raw: read_items(raw, msgspec.json.decode))
        return [part async for part in listed]


@pytest.mark.parametrize("size", [1, 40, 300, 500, 900, 1500, 10_000])
@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES.keys())
async def test_no_item_is_lost_or_torn(envelope: dict[str, Any], size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PART_BYTES", size)
    parts = await read(streamed(text_of(envelope)))
    assert [item for part in parts for item in part.items] == [metadata_first(item) for item in ITEMS]
    assert parts[-1].metadata.resource_version == "10"


@pytest.mark.parametrize("long_ones", [{0}, {500}, {999}, {0, 1, 999}, set(range(4))], ids=str)
@pytest.mark.parametrize("filling", ["x", [{"metadata": {"name": '}, {"\\\\'}}]], ids=["plain", "misleading"])
def test_an_item_longer_than_a_part_is_one_alone(
    long_ones: set[int], filling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "PART_BYTES", 5_000)
    filled = filling * (10_000 if filling == "x" else 400)
    items = [
        {**node(f"n{number}", number), **({"long": filled} if number in long_ones else {})} for number in range(1000)
    ]
    text, sizes = text_of({"metadata": {"resourceVersion": "10"}, "items": items}), []

    def read(raw: bytes) -> list[Any]:
        parts: list[Any] = msgspec.json.decode(raw)["items"]
        sizes.append(len(raw))
        return parts

    splitter = lists._ListSplitter(read)
    parts = [part for at in range(0, len(text), 5_000) for part in splitter.feed(text[at : at + 5_000])]
    assert [item for part in [*parts, splitter.finish()] for item in part] == [metadata_first(item) for item in items]
    assert max(sizes) < 5_000 + max(len(json.dumps(item)) for item in items)
    assert sum(size > 10_000 for size in sizes) == len(long_ones)


def test_brackets_are_counted_once_however_long_an_item_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PART_BYTES", 1000)
    text = text_of({"metadata": {"resourceVersion": "10"}, "items": [{**node("a", 1), "many": [[]] * 10_000}]})
    splitter = lists._ListSplitter(msgspec.json.decode)
    for at in range(0, len(text) - 1, 1000):
        before = splitter._counted_bytes
        assert not [*splitter.feed(text[at : at + 1000])]
        assert splitter._counted_bytes >= before >= at - 2000
    assert len(splitter.finish()["items"][0]["many"]) == 10_000


async def test_a_list_that_falls_silent_is_read_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "SILENCE_SECONDS", 0.2)
    script = WatchScript([streamed(text_of(ENVELOPES["metadata-first"])[:1500], hold=True), listed(20, *ITEMS[:4])])
    async with watching(script=script) as watched:
        await watched.until(watched.reflector.synced.is_set)
    assert script.requests[:2] == [{}, {"limit": "2000"}]
    assert watched.copy == {f"uid-{name}": number for number, name in enumerate("abcd")}


async def test_a_part_is_read_before_the_list_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PART_BYTES", 600)
    beginning = text_of(ENVELOPES["metadata-first"])[:1500]
    async with watching(streamed(beginning, hold=True)) as watched:
        await watched.until(lambda: "uid-a" in watched.copy)
        assert not watched.reflector.synced.is_set()


@pytest.mark.parametrize("items", ["[]", " [ ] "])
async def test_a_list_may_be_empty(items: str) -> None:
    text = f'{{"metadata": {{"resourceVersion": "10"}}, "items": {items}}}'
    async with watching(streamed(text.encode())) as watched:
        await watched.until(watched.reflector.synced.is_set)
    assert (watched.copy, watched.reflector.resource_version) == ({}, "10")


@pytest.mark.parametrize("end", [20, 400, -1])
async def test_a_list_that_ends_too_early_is_requested_again(end: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PART_BYTES", 300)
    text = text_of(ENVELOPES["metadata-first"])
    async with watching(streamed(text[:end]), streamed(text)) as watched:
        await watched.until(watched.reflector.synced.is_set)
    assert len(watched.changes) == len(watched.copy) == len(ITEMS)


async def test_a_list_that_is_cut_is_read_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PART_BYTES", 300)
    pages = [listed(20, *ITEMS[:4], more="next"), listed(20, *ITEMS[4:6])]
    script = WatchScript([streamed(text_of(ENVELOPES["metadata-first"])[:-1], reset=True), *pages])
    async with watching(script=script) as watched:
        await watched.until(watched.reflector.synced.is_set)
    assert script.requests[:3] == [{}, {"limit": "2000"}, {"limit": "2000", "continue": "next"}]
    assert watched.copy == {f"uid-{name}": number for number, name in enumerate("abcdef")}


CUT = streamed(b'{"items": [', reset=True)


async def test_a_list_that_expires_between_two_pages_is_read_anew_as_a_whole_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What the first page had, and was changed or deleted since, is neither kept as it was nor told twice."""
    caplog.set_level("DEBUG")
    first_page = listed(20, node("a", 1), node("b", 2), node("gone", 11), more="next")
    anew = listed(30, node("a", 1), node("b", 25), node("new", 26))
    follows = streamed(line("ADDED", node("later", 31)), hold=True)
    async with watching(CUT, first_page, refused(410, "Expired"), anew, follows) as watched:
        await watched.until(lambda: "uid-later" in watched.copy)
    requests = watched.script.requests
    assert requests[:4] == [{}, {"limit": "2000"}, {"limit": "2000", "continue": "next"}, {}]
    assert requests[4]["resourceVersion"] == "30"
    assert watched.changes == [
        *[("added", name) for name in ("a", "b", "gone")],
        *[("changed", "b"), ("added", "new"), ("deleted", "gone"), ("added", "later")],
    ]
    assert watched.copy == {"uid-a": 1, "uid-b": 25, "uid-new": 26, "uid-later": 31}
    assert levels(caplog, "interrupted") == []


async def test_a_list_that_expires_and_then_fails_starts_again_from_the_beginning() -> None:
    pages = [listed(20, node("gone", 11), node("a", 12), more="next"), refused(410, "Expired"), refused(500)]
    async with watching(CUT, *pages, listed(30, node("a", 12))) as watched:
        await watched.until(watched.reflector.synced.is_set)
    assert watched.script.requests[:5] == [{}, {"limit": "2000"}, {"limit": "2000", "continue": "next"}, {}, {}]
    assert watched.changes == [("added", "gone"), ("added", "a"), ("deleted", "gone")]


async def test_others_have_their_turn_between_parts_that_are_there_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PART_BYTES", 300)
    turns, turns_of_changes = 0, set[int]()

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with serving(WatchScript([listed(99, *(node(f"n-{number}", number) for number in range(1, 61)))])) as client:
        turning = asyncio.create_task(turn())
        await Reflector(NODES, client, lambda _: turns_of_changes.add(turns))._list()
        turning.cancel()
    assert len(turns_of_changes) >= 15
