"""Clusters as data, so that the same one can be built again in another order, or with one thing changed.

A check compares the answers about two clusters: those of a scene and of the scene after a :class:`SceneChange`, or
those of a cluster that was changed while the plugin watched and of one that was built anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random

import msgspec

from scheduler_runtime.state.objects import Node, Pod
from scheduler_runtime.testing.builders import Cluster


@dataclass(frozen=True, slots=True)
class Scene:
    """Nodes, and the pods on them."""

    nodes: tuple[Node, ...] = ()
    placed: tuple[tuple[Pod, str], ...] = ()
    """Pods with the names of their nodes."""

    def cluster(self) -> Cluster:
        """Build the cluster that plugins see. Each call builds another one."""
        cluster = Cluster(*self.nodes)
        for pod, node_name in self.placed:
            cluster.place(pod, node_name)
        return cluster

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(node.name for node in self.nodes)

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """Return the pods on a node."""
        return tuple(pod for pod, where in self.placed if where == node_name)

    def shuffled(self, random: Random) -> Scene:
        """Return the same nodes and pods in another order: nodes get other rows, pods are added in another order."""
        nodes = tuple(random.sample(self.nodes, len(self.nodes)))
        return Scene(nodes, tuple(random.sample(self.placed, len(self.placed))))

    def with_node(self, node: Node) -> Scene:
        """Return the scene with ``node`` added, or in the place of the node of its name."""
        if node.name not in self.names:
            return replace(self, nodes=(*self.nodes, node))
        return replace(self, nodes=tuple(node if old.name == node.name else old for old in self.nodes))

    def without_node(self, name: str) -> Scene:
        """Return the scene without a node and the pods on it."""
        return Scene(
            tuple(node for node in self.nodes if node.name != name),
            tuple((pod, where) for pod, where in self.placed if where != name),
        )

    def with_pod(self, pod: Pod, node_name: str) -> Scene:
        """Return the scene with ``pod`` on a node."""
        return replace(self, placed=(*self.placed, (pod, node_name)))

    def without_pod(self, pod: Pod) -> Scene:
        """Return the scene without ``pod``."""
        return replace(self, placed=tuple((other, where) for other, where in self.placed if other.uid != pod.uid))


@dataclass(frozen=True, slots=True)
class SceneChange:
    """One thing that can happen to a cluster: in words, as another scene, and as a change of a cluster's table."""

    words: str
    """The change as the middle of a sentence, such as "node-1 was added"."""
    scene: Scene
    """The scene afterwards."""
    apply: Callable[[Cluster], None]
    """Does the same to a cluster that was built from the scene before."""
    node: str
    """The node that it happens to."""
    events: tuple[tuple[Node | Pod | None, Node | Pod | None], ...]
    """The watch events that a scheduler gets: objects before and after, pods with the name of their node."""


def node_set(scene: Scene, node: Node) -> SceneChange:
    """Return the change that adds ``node``, or updates the node of its name."""
    before = next((old for old in scene.nodes if old.name == node.name), None)
    words = f"{node.name} {'changed' if before else 'was added'}"
    events = ((before, node),)
    return SceneChange(words, scene.with_node(node), lambda cluster: cluster.table.set_node(node), node.name, events)


def node_removed(scene: Scene, node: Node) -> SceneChange:
    """Return the change that removes a node, after the pods on it."""
    pods = scene.pods_on(node.name)

    def apply(cluster: Cluster) -> None:
        _remove(cluster, pods, node.name)
        cluster.table.remove_node(node.name)

    words = f"{node.name} was removed with its pods"
    events: tuple[tuple[Node | Pod, None], ...] = (*((pod, None) for pod in pods), (node, None))
    return SceneChange(words, scene.without_node(node.name), apply, node.name, events)


def pod_placed(scene: Scene, pod: Pod, node_name: str) -> SceneChange:
    """Return the change that binds a pod to a node.

    The pod gets the name of the node into its spec, as the API server would write it there.
    """
    bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node_name))
    words = f"{pod.key} came to {node_name}"
    after = scene.with_pod(bound, node_name)
    return SceneChange(words, after, lambda cluster: cluster.place(bound, node_name), node_name, ((None, bound),))


def pod_removed(scene: Scene, pod: Pod, node_name: str) -> SceneChange:
    """Return the change that removes a pod from its node."""
    words = f"{pod.key} left {node_name}"
    after = scene.without_pod(pod)
    return SceneChange(words, after, lambda cluster: _remove(cluster, [pod], node_name), node_name, ((pod, None),))


def _remove(cluster: Cluster, pods: Iterable[Pod], node_name: str) -> None:
    for pod in pods:
        cluster.table.remove_pod(pod, node_name)
