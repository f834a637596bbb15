"""A scheduler in memory that reads pods and nodes as the API server sends them, takes them in, and decides."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import Any

import msgspec
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.api import Action, Event
from scheduler_runtime.framework import Framework, Placed, PluginError, Progress, Unschedulable
from scheduler_runtime.kube.watch import Change
from scheduler_runtime.kube.watch.unreadable import UnidentifiedError, Unreadable, read_event, read_or_identify
from scheduler_runtime.scheduling.cluster_updates import ClusterUpdates
from scheduler_runtime.scheduling.pending import BackingOff, QueuePlace, SchedulingQueue
from scheduler_runtime.scheduling.pods_underway import BindingSlots, PodsUnderway
from scheduler_runtime.scheduling.watched_objects import WatchRevisions
from scheduler_runtime.state.cache import Cache
from scheduler_runtime.state.objects import Node, Pod, QuantityError, decode_node, decode_pod

NODES = ("n0", "n1", "n2")
OURS_TO_SAY = (QuantityError, msgspec.MsgspecError)
"""What is wrong with an object, and no mistake of ours."""


class Conditions:
    """The conditions of waiting pods, which nobody reads."""

    def withdraw(self, uid: str) -> None:
        """Nothing was written."""

    def write_unscheduled(self, pod: Pod, reason: str, message: str) -> None:
        raise AssertionError(f"{pod.key} is set aside: {message}")


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
            self.cache, self.queue, self.framework.nominations, frameworks, underway, Conditions(), WatchRevisions()
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
        """Decide about a pod, and forget it. A plugin may fail, if that names what it failed for."""
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
            self.ends["makes room"] += 1
            outcome.nomination.work.close()
        if pod.uid not in self.queue:
            self.framework.nominations.clear(pod)

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
