"""Clusters as data, so that the same one can be made again in another order, or with one thing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random

from msgspec.structs import replace as changed

from scheduler_runtime.state.objects import Node, Pod
from scheduler_runtime.testing.builders import Cluster


@dataclass(frozen=True, slots=True)
class Scene:
    """Nodes, and which pods are on them."""

    nodes: tuple[Node, ...] = ()
    placed: tuple[tuple[Pod, str], ...] = ()

    def cluster(self) -> Cluster:
        """The scene as the cluster that plugins see."""
        cluster = Cluster(*self.nodes)
        for pod, node_name in self.placed:
            cluster.place(pod, node_name)
        return cluster

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(node.name for node in self.nodes)

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """The pods on a node."""
        return tuple(pod for pod, where in self.placed if where == node_name)

    def shuffled(self, random: Random) -> Scene:
        """The same, in another order."""
        return Scene(
            tuple(random.sample(self.nodes, len(self.nodes))), tuple(random.sample(self.placed, len(self.placed)))
        )

    def with_node(self, node: Node) -> Scene:
        """With ``node`` added, or in the place of the one with its name."""
        if node.name not in self.names:
            return replace(self, nodes=(*self.nodes, node))
        return replace(self, nodes=tuple(node if each.name == node.name else each for each in self.nodes))

    def without_node(self, name: str) -> Scene:
        """Without a node and the pods on it."""
        return Scene(
            tuple(node for node in self.nodes if node.name != name),
            tuple((pod, where) for pod, where in self.placed if where != name),
        )

    def with_pod(self, pod: Pod, node_name: str) -> Scene:
        """With ``pod`` on a node."""
        return replace(self, placed=(*self.placed, (pod, node_name)))

    def without_pod(self, pod: Pod) -> Scene:
        """Without ``pod``."""
        return replace(self, placed=tuple((each, where) for each, where in self.placed if each.uid != pod.uid))


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that can happen to a cluster, in words, to a scene, and to the cluster made of it."""

    words: str
    scene: Scene
    """The scene afterwards."""
    apply: Callable[[Cluster], None]
    """Does the same to the cluster of the scene before."""
    node: str
    """The node that it happens to."""
    events: tuple[tuple[Node | Pod | None, Node | Pod | None], ...]
    """What is heard of it: objects before and after, pods with the name of their node."""


def node_set(scene: Scene, node: Node) -> Change:
    """A node appears, or is another from now on."""
    old = next((each for each in scene.nodes if each.name == node.name), None)
    words = f"{node.name} {'changed' if old else 'was added'}"
    return Change(words, scene.with_node(node), lambda cluster: cluster.table.set_node(node), node.name, ((old, node),))


def node_removed(scene: Scene, node: Node) -> Change:
    """A node disappears, and first the pods on it."""
    pods = scene.pods_on(node.name)

    def apply(cluster: Cluster) -> None:
        _remove(cluster, pods, node.name)
        cluster.table.remove_node(node.name)

    words = f"{node.name} was removed with its pods"
    return Change(
        words, scene.without_node(node.name), apply, node.name, (*((pod, None) for pod in pods), (node, None))
    )


def pod_placed(scene: Scene, pod: Pod, node_name: str) -> Change:
    """A pod comes to be on a node."""
    there, words = _bound(pod, node_name), f"{pod.key} came to {node_name}"
    return Change(
        words,
        scene.with_pod(there, node_name),
        lambda cluster: cluster.place(there, node_name),
        node_name,
        ((None, there),),
    )


def pod_removed(scene: Scene, pod: Pod, node_name: str) -> Change:
    """A pod leaves its node."""
    words = f"{pod.key} left {node_name}"
    return Change(
        words, scene.without_pod(pod), lambda cluster: _remove(cluster, [pod], node_name), node_name, ((pod, None),)
    )


def _bound(pod: Pod, node_name: str) -> Pod:
    return changed(pod, spec=changed(pod.spec, node_name=node_name))


def _remove(cluster: Cluster, pods: Iterable[Pod], node_name: str) -> None:
    for pod in pods:
        cluster.table.remove_pod(pod, node_name)
