"""Odd pods, nodes, watch lines and responses: what one of them is like ends nothing, and costs the others nothing."""

from __future__ import annotations

import gc
import json
import os
from collections import Counter
from random import Random
from time import monotonic
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.api import Action, Event
from scheduler_runtime.framework import FailureLog, Framework, Placed, PluginError, Progress, Unschedulable
from scheduler_runtime.kube.http.stream import Stream
from scheduler_runtime.kube.http2 import frames
from scheduler_runtime.kube.watch import Change
from scheduler_runtime.kube.watch.unreadable import (
    UnidentifiedError,
    Unreadable,
    read_event,
    read_list_metadata,
    read_or_identify,
    read_page,
)
from scheduler_runtime.scheduling.cluster_updates import ClusterUpdates
from scheduler_runtime.scheduling.pending import BackingOff, QueuePlace, SchedulingQueue
from scheduler_runtime.scheduling.pods_underway import BindingSlots, PodsUnderway
from scheduler_runtime.scheduling.watched_objects import WatchRevisions
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import (
    Node,
    Pod,
    QuantityError,
    decode_node,
    decode_node_list,
    decode_pod,
    decode_pod_list,
)
from tests.fuzz.budget import Budget
from tests.fuzz.objects import MadeObjects
from tests.fuzz.regressions import OBJECTS
from tests.scheduler_runtime.kube.http2.peer import ask, greeted

pytestmark = pytest.mark.thorough

TOTAL = int(os.environ.get("FUZZ", "1000"))
OBJECT_TOTAL = int(os.environ.get("FUZZ_OBJECTS", TOTAL))
"""As many as all others in ``make test``, and a million in ``make fuzz``."""
SHARDS = 4
NODES = ("n0", "n1", "n2")
NO_GATES = {"plugins": {"preEnqueue": {"disabled": [{"name": "SchedulingGates"}]}}}
OURS_TO_SAY = (QuantityError, msgspec.MsgspecError)


class Conditions:
    """The conditions of waiting pods, which nobody reads."""

    def withdraw(self, uid: str) -> None:
        """Nothing was written."""

    def write_unscheduled(self, pod: Pod, reason: str, message: str) -> None:
        raise AssertionError(f"{pod.key} is set aside: {message}")


@pytest.fixture(autouse=True)
def _no_failure_is_only_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the scheduler logs and survives fails the test too, unless it is what it has to say about the object."""

    def log(_: FailureLog, message: str, error: BaseException, **values: object) -> None:
        cause = error.__cause__ if isinstance(error, PluginError) else error
        if not isinstance(cause, OURS_TO_SAY):
            raise AssertionError(f"{message}: {values}") from error

    monkeypatch.setattr(FailureLog, "log", log)


class World:
    """A scheduler without a network: watches are played to it, and it decides. Everything it raises is a failure.

    One plain pod is parked, so that each event asks the hints of all plugins.
    """

    def __init__(self) -> None:
        self.framework: Framework = testing.framework()
        self.cache = Cache()
        frameworks = {"test": self.framework}
        self.queue = SchedulingQueue(frameworks, backing_off=BackingOff(0, 0))
        underway = PodsUnderway(BindingSlots(), Progress())
        self.updates = ClusterUpdates(
            self.cache, self.queue, Nominations(), frameworks, underway, Conditions(), WatchRevisions()
        )
        self.ends: Counter[str] = Counter()
        self.nodes: dict[str, Node] = {}
        for name in NODES:
            self.see_node(name, msgspec.json.encode(testing.node(name)))
        self.parked = testing.pod("parked", {"cpu": "100m"}, schedulerName="test")
        self.updates.pod(Change(None, self.parked))
        self.park_all()

    def park_all(self) -> None:
        """Take all pods that are ready, and park each as if all plugins had rejected it."""
        while entry := self.queue.take(monotonic()):
            self.queue.park(entry.uid, tuple(self.framework.queue.events), monotonic())

    def wake(self, pod: Pod) -> None:
        """Park a pod that waits, and play to it what may help it: each node, and a pod that goes."""
        gone = replace(pod, spec=replace(pod.spec, node_name=NODES[0]))
        events = [Event("Node", Action.ADD, None, node) for node in self.nodes.values()]
        for event in (*events, Event("Pod", Action.DELETE, gone, None)):
            self.park_all()
            self.queue.on_event(event, monotonic())
            self.ends["woken"] += any(
                entry.uid == pod.uid and entry.place is QueuePlace.ACTIVE for entry in self.queue.entries()
            )

    def read(self, raw: bytes, decode: Any) -> Any:
        """What is left of the object after a watch line and a page, or None."""
        try:
            event = read_event(b'{"type":"MODIFIED","object":' + raw + b"}")
            item = read_or_identify(event.object, decode)
        except (UnidentifiedError, ValueError):
            self.ends["unidentified"] += 1
            return None
        if isinstance(item, Unreadable):
            self.ends["unreadable"] += 1
            assert item.metadata.name
            return None
        return item

    def see_node(self, name: str, raw: bytes) -> None:
        """Take in a node, and let it go on being there only if it is one."""
        node = self.read(raw, decode_node)
        if node is not None and node.name:
            self.updates.node(Change(self.nodes.get(node.name), node))
            self.nodes[node.name] = node

    def drop_node(self, name: str) -> None:
        """Have the node deleted."""
        if node := self.nodes.pop(name, None):
            self.updates.node(Change(node, None))

    def see_pod(self, raw: bytes) -> Pod | None:
        """Take in a pod."""
        pod: Pod | None = self.read(raw, decode_pod)
        if pod is not None and pod.uid:
            self.updates.pod(Change(None, pod))
        return pod

    def drop_pod(self, pod: Pod) -> None:
        """Have the pod deleted."""
        self.updates.pod(Change(pod, None))

    def decide(self, pod: Pod) -> None:
        """Decide about a pod. A plugin may fail, if that names what it failed for."""
        try:
            outcome = self.framework.schedule(pod, self.cache)
        except PluginError as error:
            if not isinstance(error.__cause__, OURS_TO_SAY):
                raise
            self.ends["plugin failed"] += 1
            return
        self.ends[type(outcome).__name__.lower()] += 1
        assert isinstance(outcome, Placed | Unschedulable)
        if isinstance(outcome, Placed):
            self.framework.release(outcome, self.cache)
        elif outcome.nomination and outcome.nomination.work:
            outcome.nomination.work.close()

    def assert_empty(self) -> None:
        """Nothing is left of any pod but the one that is parked."""
        table = self.cache.table
        assert (len(self.cache), [entry.uid for entry in self.queue.entries()]) == (0, [self.parked.uid])
        assert not table.pod_counts.any()
        assert not table._columns.requested.columns
        assert not list(table._columns.ports)
        for scored in table._columns.scored.values():
            assert not scored.values.any()
        assert not any(table._columns.terms.values())


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


def play(world: World, raw: bytes, plain: Pod, *, is_node: bool) -> None:
    """Have the world see an object, decide about it or beside it, wake it, and see it go if it is a pod."""
    world.park_all()
    if is_node:
        name = next((name for name in NODES if b'"%s"' % name.encode() in raw), "")
        world.see_node(name, raw)
        world.decide(plain)
        return
    pod = world.see_pod(raw)
    if pod is None:
        return
    waiting = replace(pod, spec=replace(pod.spec, node_name=""), metadata=replace(pod.metadata, uid="waiting"))
    world.decide(waiting)
    if pod.spec.node_name:
        world.decide(plain)
        world.updates.pod(Change(pod, pod))
    elif pod.uid in world.queue:
        world.wake(pod)
    world.drop_pod(pod)


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
