"""Odd pods, nodes, watch lines and responses: what one of them is like ends nothing, and costs the others nothing."""

from __future__ import annotations

import gc
import json
import os
from collections import Counter
from random import Random

import msgspec
import pytest

from scheduler_runtime import testing
from scheduler_runtime.kube.http.stream import Stream
from scheduler_runtime.kube.http2 import frames
from scheduler_runtime.kube.watch.unreadable import (
    UnidentifiedError,
    Unreadable,
    read_event,
    read_list_metadata,
    read_or_identify,
    read_page,
)
from scheduler_runtime.state.objects import (
    decode_node,
    decode_node_list,
    decode_pod,
    decode_pod_list,
)
from tests.fuzz.budget import Budget
from tests.fuzz.objects import MadeObjects
from tests.fuzz.regressions import OBJECTS
from tests.fuzz.world import NODES, World, play
from tests.scheduler_runtime.kube.http2.peer import ask, greeted

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("no_failure_is_only_logged")]

TOTAL = int(os.environ.get("FUZZ", "1000"))
OBJECT_TOTAL = int(os.environ.get("FUZZ_OBJECTS", TOTAL))
"""As many as all others in ``make test``, and a million in ``make fuzz``."""
SHARDS = 4
NO_GATES = {"plugins": {"preEnqueue": {"disabled": [{"name": "SchedulingGates"}]}}}


@pytest.mark.parametrize("shard", range(SHARDS))
def test_pods_and_nodes_are_read_taken_in_and_decided_about(shard: int) -> None:
    world = World()
    budget = Budget(seconds=2.0, megabytes=400)
    plain = testing.pod("plain", {"cpu": "100m"}, schedulerName="test")
    for number in range(shard, OBJECT_TOTAL, SHARDS):
        made, random = MadeObjects(number), Random(-number)  # noqa: S311 - to be repeated, not to be secret
        kind = random.random()
        if kind < 0.25:
            raw = made.node(random.choice(NODES))
        else:
            raw = made.pod("p", random.choice(("", "", *NODES, "gone")), random.choice(("test", "test", "other")))
        with budget.input(raw):
            play(world, raw, plain, is_node=kind < 0.25)
        if number // SHARDS % 200 == 0:
            world.assert_empty()
            for name in NODES:
                world.drop_node(name)
                world.see_node(name, msgspec.json.encode(testing.node(name)))
            if number // SHARDS % 20_000 == 0:
                gc.collect()
    world.assert_empty()
    budget.print(f"pods and nodes, {dict(world.ends)}")


@pytest.mark.parametrize("raw", OBJECTS)
def test_objects_that_once_ended_a_scheduler(raw: bytes) -> None:
    for is_node in (True, False):
        world = World()
        play(world, raw, testing.pod("plain", schedulerName="test"), is_node=is_node)
        world.assert_empty()


def slipped(random: Random, text: bytes) -> bytes:
    """``text`` with a few bytes typed over, dropped or doubled."""
    for _ in range(random.choice((1, 1, 2, 5))):
        at, size = random.randrange(len(text) + 1), random.choice((0, 1, 1, 4, 30))
        new = random.choice(
            (b"", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\xff", b"null", b"\n", b"\0", b"1e9")
        )
        text = text[:at] + random.choice((new, text[at : at + size] * 2)) + text[at + size :]
    return text


@pytest.mark.parametrize("shard", range(2))
def test_lines_and_lists_with_slips_are_read_as_far_as_they_go(shard: int) -> None:
    budget = Budget(seconds=2.0, megabytes=200)
    ends: Counter[str] = Counter()
    for number in range(shard, TOTAL // 5, 2):
        made, random = MadeObjects(number), Random(number)  # noqa: S311 - to be repeated, not to be secret
        pods = [made.pod(f"p{index}", "", "test") for index in range(3)]
        line = slipped(random, b'{"type":"ADDED","object":' + pods[0] + b"}")
        whole = b'{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[' + b",".join(pods) + b"]}"
        with budget.input(whole):
            try:
                item = read_or_identify(read_event(line).object, decode_pod)
                ends["unreadable" if isinstance(item, Unreadable) else "read"] += 1
            except (ValueError, UnidentifiedError):
                ends["no event"] += 1
            for read_list, read in ((decode_pod_list, decode_pod), (decode_node_list, decode_node)):
                for text in (whole, slipped(random, whole)):
                    try:
                        page = read_page(text, read_list, read)
                        ends["item"] += len(page.items)
                        read_list_metadata(text)
                    except msgspec.DecodeError:
                        assert text is not whole
                        ends["no list"] += 1
    budget.print(f"watch lines and lists, {dict(ends)}")


async def test_http2_frames_end_no_more_than_their_connection() -> None:
    budget, kinds = Budget(seconds=1.0, megabytes=200), list(frames.TYPE_NAMES)
    for number in range(TOTAL // 5):
        random = Random(number)  # noqa: S311 - to be repeated, not to be secret
        async with greeted() as peer:
            requests = [ask(peer) for _ in range(3)]
            await peer.settle()
            data = b"".join(
                frames.frame(
                    random.choice((*kinds, 99)),
                    random.choice((0, 1, 4, 5, 8, 0x20, 0xFF)),
                    random.choice((0, 1, 1, 3, 5, 7, 2)),
                    random.choice((b"", b"\x88", b"\x88\x00", random.randbytes(4), random.randbytes(8), bytes(300)))
                    * random.choice((1, 1, 1, 3)),
                )
                for _ in range(random.choice((1, 3, 10, 200)))
            )
            with budget.input(data[:1000]):
                peer.tell(data if random.random() < 0.7 else slipped(random, data))
            for request in requests:
                request.cancel()
    budget.print("HTTP/2 frames")


async def test_responses_of_streams_end_no_more_than_their_stream() -> None:
    budget = Budget(seconds=1.0, megabytes=200)
    body = json.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}}).encode() + b"\n"
    heads = (b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked", b"Retry-After: 3", b"X: " + b"y" * 9000)
    for number in range(TOTAL):
        random = Random(number)  # noqa: S311 - to be repeated, not to be secret
        head = b"\r\n".join((b"HTTP/1.1 200 OK", *random.sample(heads, 2)))
        text = slipped(random, head + b"\r\n\r\n" + random.choice((body, b"%x\r\n%s\r\n" % (len(body), body))))
        with budget.input(text):
            stream = Stream(60)
            for start in range(0, len(text), size := random.choice((1, 7, 1 << 16))):
                stream.data_received(text[start : start + size])
            stream.connection_lost(None)
            stream.close()
    budget.print("HTTP/1.1 responses")
