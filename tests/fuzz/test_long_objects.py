"""Pods and nodes with lists, maps and texts as long as may be, waiting, on nodes, and beside each other."""

from __future__ import annotations

import gc
import os
from random import Random

import pytest
from msgspec.structs import replace

from scheduler_runtime import testing
from scheduler_runtime.kube.watch import Change
from scheduler_runtime.state.objects import Pod
from tests.fuzz.budget import Budget
from tests.fuzz.long_objects import NODES as NODE_PLACES
from tests.fuzz.long_objects import OTHER_IN_NODES, OTHER_IN_PODS, PODS, LongObjects
from tests.fuzz.world import NODES, World

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("no_failure_is_only_logged")]

TOTAL = int(os.environ.get("FUZZ_OBJECTS", os.environ.get("FUZZ", "1000"))) // 100
"""A pod or node like these takes some hundred times what others take."""
SHARDS = 4
LARGE = [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]
PLAIN = testing.pod("plain", {"cpu": "100m"}, schedulerName="test", labels={"app": "web", "a": "b"})
PREEMPTING = testing.pod("preempting", {"cpu": "3"}, schedulerName="test", priority=100, labels={"app": "web"})


def resident(node: str) -> Pod:
    """A pod that nothing protects, and that leaves two of a node's four cores."""
    return testing.pod(f"on-{node}", {"cpu": "2"}, nodeName=node, labels={"app": "web", "a": "b"}, priority=-1)


class Scene:
    """The world with a pod on each node, and beside each long object the long pod and node before it."""

    def __init__(self) -> None:
        self.world = World()
        for name in NODES:
            self.world.updates.pod(Change(None, resident(name)))
        self.standing: Pod | None = None
        """On the node n1."""

    def play_node(self, raw: bytes) -> None:
        """Have the node n2 become this one; decide about an ordinary pod and the long one."""
        world = self.world
        world.park_all()
        world.see_node("n2", raw)
        world.decide(PLAIN)
        world.decide(PREEMPTING)
        if self.standing:
            world.decide(waiting(self.standing))

    def play_waiting(self, raw: bytes) -> None:
        """Have the pod wait: decide about it, wake it, see it go."""
        world = self.world
        world.park_all()
        pod = world.see_pod(raw)
        if pod is None:
            return
        world.decide(pod)
        if pod.uid in world.queue:
            world.wake(pod)
        world.drop_pod(pod)

    def play_assigned(self, raw: bytes) -> None:
        """Have the pod be on a node: decide about others beside it, see it change and go; the next one meets it."""
        world = self.world
        world.park_all()
        if self.standing:
            world.drop_pod(self.standing)
        pod = self.standing = world.see_pod(raw)
        if pod is None:
            return
        world.decide(PLAIN)
        world.decide(PREEMPTING)
        again = replace(pod, metadata=replace(pod.metadata, labels={**pod.labels, "new": "label"}))
        world.updates.pod(Change(pod, again))
        self.standing = again
        world.decide(PLAIN)

    def end(self) -> None:
        """Have all go."""
        if self.standing:
            self.world.drop_pod(self.standing)
        for name in NODES:
            self.world.drop_pod(resident(name))
            self.world.drop_node(name)
        self.world.assert_empty()


def waiting(pod: Pod) -> Pod:
    """The same pod under another name, without a node."""
    metadata = replace(pod.metadata, uid="waiting", name="waiting")
    return replace(pod, spec=replace(pod.spec, node_name=""), metadata=metadata)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_long_objects_are_read_taken_in_and_decided_about(shard: int) -> None:
    scene = Scene()
    budget = Budget(seconds=float(os.environ.get("S", "2.0")), megabytes=float(os.environ.get("M", "600")))
    for number in range(shard, TOTAL, SHARDS):
        made, random = LongObjects(number), Random(-number)  # noqa: S311 - to be repeated, not to be secret
        turn = number // SHARDS
        is_node = turn % 10 == 0
        read, others = (NODE_PLACES, OTHER_IN_NODES) if is_node else (PODS, OTHER_IN_PODS)
        # Each list and map that is read comes in its turn, by itself and beside another place.
        long = [read[(turn * SHARDS + shard) % len(read)] if random.random() < 0.9 else random.choice(others)]
        if random.random() < 0.5:
            long.append(random.choice(random.choice((read, read, others))))
        if is_node:
            raw, title = made.long_node("n2", long)
            play = scene.play_node
        elif random.random() < 0.6:
            spec = random.choice(({}, {"priority": 10, "containers": LARGE}))
            raw, title = made.long_pod("p", "", long, **spec)
            play = scene.play_waiting
        else:
            raw, title = made.long_pod("standing", "n1", long, priority=random.choice((0, -1)))
            play = scene.play_assigned
        with budget.input(f"{number} {play.__name__} {len(raw)} bytes: {title}"):
            play(raw)
        if turn % 50 == 0:
            gc.collect()
    scene.end()
    budget.print(f"long pods and nodes, {dict(scene.world.ends)}")
