"""An object that no decoder reads is found and named without recursion, and costs time in proportion to its text."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from scheduler_runtime.kube.watch import lists, reflector
from scheduler_runtime.kube.watch.kinds import ListMeta
from scheduler_runtime.kube.watch.unreadable import (
    UnidentifiedError,
    Unreadable,
    read_event,
    read_list_metadata,
    read_or_identify,
    read_page,
    without_managed_fields,
)
from scheduler_runtime.serving.debug_dumps import dump_cache
from scheduler_runtime.serving.scrape_gauges import objects_set_aside
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.objects import Node, decode_node, decode_node_list
from tests.scheduler_runtime.kube.watch.scripted import (
    WatchScript,
    line,
    listed,
    node,
    streamed,
    watching,
)

DEPTH = 9_993
"""As deep as the API server of Kubernetes 1.36 stores managedFields."""
NESTED = b'{"f:a":' * DEPTH + b"{}" + b"}" * DEPTH
DEEP = b'"managedFields":[{"manager":"m","fieldsType":"FieldsV1","fieldsV1":' + NESTED + b"}]"


def text(name: str, version: int = 1, metadata: bytes = b"", rest: bytes = b"") -> bytes:
    """A node with more in its metadata, and after it; ``metadata`` comes before its name."""
    more = metadata + b"," if metadata else b""
    return b'{"metadata":{%s"name":"%s","uid":"uid-%s","resourceVersion":"%d"}%s}' % (
        more,
        name.encode(),
        name.encode(),
        version,
        rest,
    )


def list_of(*items: bytes) -> bytes:
    return b'{"kind":"NodeList","metadata":{"resourceVersion":"10"},"items":[' + b",".join(items) + b"]}"


def read(raw: bytes) -> Node | Unreadable:
    return read_or_identify(raw, decode_node)


@pytest.mark.parametrize("place", ["metadata", "spec"])
def test_an_object_with_deep_managed_fields_is_read(place: str) -> None:
    raw = text("a", metadata=DEEP) if place == "metadata" else text("a", rest=b',"spec":{"template":{%s}}' % DEEP)
    item = read(raw)
    assert isinstance(item, Node)
    assert (item.name, item.metadata.resource_version) == ("a", "1")


def test_the_others_of_its_list_are_read_with_it() -> None:
    raw = list_of(text("a"), text("deep", metadata=DEEP), text("c"))
    page = read_page(raw, decode_node_list, decode_node)
    assert [item.name for item in page.items] == ["a", "deep", "c"]
    assert all(isinstance(item, Node) for item in page.items)
    assert read_list_metadata(raw) == ListMeta(resource_version="10") == page.metadata


def test_only_managed_fields_are_left_out() -> None:
    others = {"labels": {"managedFields": "x"}, "note": '"managedFields":[', "path": 'a\\"managedFields":[{}]'}
    raw = {"metadata": {"managedFields": [{"a": "]"}, {"b": ["}"]}], **others}, "spec": others}
    expected = {**raw, "metadata": {"managedFields": [], **others}}
    assert json.loads(without_managed_fields(json.dumps(raw).encode())) == expected


BROKEN = {
    "too-deep": b',"spec":{"more":%s}' % NESTED,
    "no-text": b',"spec":{"taints":[{"key":"\xff"}]}',
    "huge-number": b',"status":{"images":[{"sizeBytes":%s}]}' % (b"9" * 10_000),
    "large-number": b',"status":{"images":[{"sizeBytes":%s}]}' % (b"9" * 400),
    "wrong-type": b',"spec":{"taints":null}',
    "no-json": b',"spec":{"taints":[nonsense]}',
    "half-a-surrogate": rb',"spec":{"taints":[{"key":"\ud800"}]}',
}


@pytest.mark.parametrize("rest", BROKEN.values(), ids=BROKEN.keys())
def test_an_object_is_named_whatever_is_wrong_with_it(rest: bytes) -> None:
    item = read(text("a", 7, rest=rest))
    assert isinstance(item, Unreadable)
    assert (item.metadata.name, item.metadata.uid, item.metadata.resource_version) == ("a", "uid-a", "7")
    assert 0 < len(item.problem) < 400


@pytest.mark.parametrize("rest", BROKEN.values(), ids=BROKEN.keys())
async def test_it_holds_up_no_other_in_lists_and_watches(rest: bytes) -> None:
    first = list_of(text("a"), text("b", 2, rest=rest), text("c", 3))
    events = [b'{"type":"ADDED","object":%s}\n' % text("d", 11, rest=rest), line("ADDED", node("e", 12))]
    async with watching(streamed(first), streamed(*events, hold=True)) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "12")
        assert watched.copy == {"uid-a": 1, "uid-c": 3, "uid-e": 12}
        assert {key: aside.reason for key, aside in watched.reflector.set_aside.items()} == dict.fromkeys(
            "bd", "unreadable"
        )


IMITATIONS: dict[str, bytes] = {
    "annotation": b'"annotations":{"metadata":"{\\"name\\":\\"evil\\"}","name":"evil","uid":"evil"}',
    "label": b'"labels":{"name":"evil","resourceVersion":"99"}',
    "owner": b'"ownerReferences":[{"name":"evil","uid":"evil"}]',
    "text": b'"annotations":{"a":"\\"},\\"metadata\\":{\\"name\\":\\"evil\\"}"}',
}


@pytest.mark.parametrize("imitation", IMITATIONS.values(), ids=IMITATIONS.keys())
@pytest.mark.parametrize("place", ["inside", "before", "after"])
def test_a_label_or_an_annotation_cannot_give_it_another_name(imitation: bytes, place: str) -> None:
    template = b'"spec":{"taints":null,"template":{"metadata":{"name":"evil","uid":"evil"}},%s}' % imitation
    raw = text("a", 7, metadata=imitation if place == "inside" else b"", rest=b"," + template)
    if place == "before":
        raw = b"{" + template + b"," + text("a", 7)[1:]
    item = read(raw)
    assert isinstance(item, Unreadable)
    assert (item.metadata.name, item.metadata.uid, item.metadata.resource_version) == ("a", "uid-a", "7")


@pytest.mark.parametrize("raw", [b"", b"null", b"[]", b"{", b'"a"', b'{"metadata":{"uid":5}}', b'{"metadata":[]}'])
def test_what_has_no_name_is_not_given_one(raw: bytes) -> None:
    with pytest.raises(UnidentifiedError):
        read(raw)


async def test_an_object_without_a_name_holds_up_no_other_and_nothing_is_taken_for_gone() -> None:
    nameless = b'{"metadata":{"resourceVersion":"12"},"spec":{"taints":null}}'
    script = WatchScript(
        [
            listed(10, node("a", 1), node("b", 2)),
            streamed(b'{"type":"ADDED","object":%s}\n' % nameless, line("ADDED", node("c", 13))),
            streamed(b'{"type":"ERROR","object":{"code":410}}\n'),
            streamed(list_of(text("a"), nameless)),
        ]
    )
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "13")
        assert watched.reflector.set_aside.keys() == {""}
        await watched.until(lambda: len(script.requests) == 5)
        assert watched.copy == {"uid-a": 1, "uid-b": 2, "uid-c": 13}
        assert script.requests[4]["resourceVersion"] == "10"


@pytest.mark.parametrize("raw", [b'{"type":"ADDED"}', b'{"object":{}}', b'{"type":"ADDED","object":{"a":1}', b"<html>"])
def test_half_an_event_is_none(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_event(raw)


def test_a_part_of_a_list_that_is_cut_is_no_list() -> None:
    whole = list_of(text("a"), text("b", rest=BROKEN["wrong-type"]))
    for end in range(1, len(whole)):
        with pytest.raises(msgspec.DecodeError):
            read_page(whole[:end], decode_node_list, decode_node)


@pytest.mark.parametrize("size", [500, 30_000, 1 << 20])
async def test_a_list_is_cut_between_its_items_however_deep_they_are(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "PART_BYTES", size)
    items = [text(f"n{number}", number, metadata=DEEP if number % 3 == 1 else b"") for number in range(1, 12)]
    async with watching(streamed(list_of(*items))) as watched:
        await watched.until(watched.reflector.synced.is_set)
        assert watched.copy == {f"uid-n{number}": number for number in range(1, 12)}


def test_brackets_are_counted_a_few_times_for_each_byte_however_the_object_is_built() -> None:
    """What is not linear here would take minutes for these."""
    shapes: tuple[Any, ...] = (
        b'{"a":' * 200_000,
        b"[" * 1_000_000,
        b'{"managedFields":[' * 100_000,
        b'{"metadata":{"managedFields":[]' + b',"managedFields":[]' * 100_000,
        b'{"metadata":{"name":"a' + b"\\\\" * 500_000,
        b'{"metadata":{' + b'"uid":"u",' * 200_000,
        b'"' * 1_000_000,
    )
    for shape in shapes:
        for read_it in (read, read_event, lambda raw: read_page(raw, decode_node_list, decode_node)):
            with pytest.raises((ValueError, UnidentifiedError)):
                read_it(shape)


async def test_objects_that_are_set_aside_are_counted_and_shown() -> None:
    broken = text("b", rest=BROKEN["no-text"])
    async with watching(streamed(list_of(text("a"), broken)), fails_for=("7",)) as watched:
        await watched.until(watched.reflector.synced.is_set)
        reflectors = [watched.reflector]
        counts = {labels[1][1]: number for labels, number in objects_set_aside(reflectors).items()}
        assert counts == {"unreadable": 1, "failed": 0}
        (shown,) = dump_cache(Cache(), reflectors)["setAside"]
    assert (shown["path"], shown["name"], shown["reason"]) == ("/api/v1/nodes", "b", "unreadable")
    assert "UnicodeDecodeError" in shown["problem"]


async def test_a_line_that_does_not_end_leads_to_a_new_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "LONGEST_LINE", 10_000)
    endless = streamed(b'{"type":"ADDED","object":{"metadata":{"name":"', b"a" * 20_000, hold=True)
    async with watching(listed(10), endless, listed(20, node("a", 15))) as watched:
        await watched.until(lambda: watched.copy == {"uid-a": 15})
