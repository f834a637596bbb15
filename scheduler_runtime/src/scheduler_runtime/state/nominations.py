"""Nominations: the nodes on which room is being made for waiting pods.

A pod is nominated to a node from the decision on, before its status says so. Pods of the same or a lower priority must
leave it the room, so decisions count it as if it were on the node already. Upstream: pkg/scheduler/backend/queue/
nominator.go.
"""

from __future__ import annotations

from collections.abc import Collection, KeysView

from scheduler_runtime.state.objects import Pod


class Nominations:
    """The nominated node of each pod that has one.

    What was decided here is newer than what a pod's status says, until the status changes.
    """

    def __init__(self) -> None:
        self._decided: dict[str, str] = {}
        """By the pod's uid. The empty name overrides a status that still names a node."""
        self._by_node: dict[str, dict[str, Pod]] = {}
        self.nodes: KeysView[str] = self._by_node.keys()
        """The names of the nodes that pods are nominated to, at any moment."""

    def __bool__(self) -> bool:
        """True if any pod is nominated to a node."""
        return bool(self._by_node)

    def nominated_to(self, node: str) -> Collection[Pod]:
        """The pods that are nominated to ``node``, each in the version observed last."""
        pods = self._by_node.get(node)
        return tuple(pods.values()) if pods else ()

    def competing_with(self, pod: Pod, node: str) -> list[Pod]:
        """The pods nominated to ``node`` that are at least as important as ``pod``; never ``pod`` itself."""
        pods = self._by_node.get(node)
        if not pods:
            return []
        priority = pod.spec.priority
        return [
            other
            for other in pods.values()
            if other.spec.priority >= priority and other.metadata.uid != pod.metadata.uid
        ]

    def node_of(self, pod: Pod) -> str:
        """The node that ``pod`` is nominated to; empty when there is none."""
        return self._decided.get(pod.metadata.uid, pod.status.nominated_node_name)

    def nominate(self, pod: Pod, node: str) -> None:
        """Record a decision: ``pod`` is to go to ``node``."""
        self.forget(pod.metadata.uid)
        self._by_node.setdefault(node, {})[pod.metadata.uid] = pod
        self._decided[pod.metadata.uid] = node

    def clear(self, pod: Pod) -> None:
        """Record a decision: ``pod`` goes to no node in particular, even if its status still names one.

        For a pod that goes on waiting; :meth:`forget` is for one that does not.
        """
        self.forget(pod.metadata.uid)
        if pod.status.nominated_node_name:
            self._decided[pod.metadata.uid] = ""

    def observe(self, old: Pod | None, new: Pod) -> None:
        """Take over a waiting pod's new version from a watch.

        A nomination that has changed in its status, by whomever, overrides what was decided here. An unchanged one does
        not: it is older than the decision, whose own status update is still on its way.
        """
        nominated = new.status.nominated_node_name
        if nominated != (old.status.nominated_node_name if old else ""):
            if nominated:
                self.nominate(new, nominated)
            else:
                self.clear(new)
        elif node := self._decided.get(new.metadata.uid):
            self._by_node[node][new.metadata.uid] = new

    def forget(self, uid: str) -> None:
        """Drop the nomination of a pod that waits no longer. It is no error if there was none."""
        node = self._decided.pop(uid, "")
        if node:
            pods = self._by_node[node]
            del pods[uid]
            if not pods:
                del self._by_node[node]
