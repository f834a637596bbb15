"""Which waiting pods are nominated to which nodes, known from the decision on and not only when a status says it.

A pod that is nominated to a node waits for room that is being made there. Pods of its priority or a lower one must
leave it that room, so decisions count it as if it were on the node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from scheduler_runtime.state.objects import Pod


class Nominations:
    """The nominated node of each pod that has one.

    What was decided here is newer than what a pod's status says, until the status changes.
    """

    def __init__(self) -> None:
        self._decided: dict[str, str] = {}
        self._by_node: dict[str, dict[str, Pod]] = {}

    def __bool__(self) -> bool:
        """Whether any pod is nominated to a node."""
        return bool(self._by_node)

    @property
    def nodes(self) -> Iterable[str]:
        """The names of the nodes that pods are nominated to."""
        return self._by_node.keys()

    def nominated_to(self, node: str) -> Collection[Pod]:
        """The pods that are nominated to ``node``, as they were last seen."""
        pods = self._by_node.get(node)
        return tuple(pods.values()) if pods else ()

    def competing_with(self, pod: Pod, node: str) -> list[Pod]:
        """The pods nominated to ``node`` that are at least as important as ``pod``, which is none of them."""
        pods = self._by_node.get(node)
        if not pods:
            return []
        priority = pod.spec.priority
        return [each for each in pods.values() if each.spec.priority >= priority and each.uid != pod.uid]

    def node_of(self, pod: Pod) -> str:
        """The node that ``pod`` is nominated to; empty when there is none."""
        return self._decided.get(pod.uid, pod.status.nominated_node_name)

    def nominate(self, pod: Pod, node: str) -> None:
        """Remember what was decided: that ``pod`` is to go to ``node``, or to no node in particular."""
        self.forget(pod.uid)
        if node:
            self._by_node.setdefault(node, {})[pod.uid] = pod
        if node or pod.status.nominated_node_name:
            self._decided[pod.uid] = node

    def observe(self, old: Pod | None, new: Pod) -> None:
        """A watch shows a waiting pod; a nomination that its status says anew overrides what was decided here."""
        said = new.status.nominated_node_name
        if said != (old.status.nominated_node_name if old else ""):
            self.nominate(new, said)
        elif node := self._decided.get(new.uid):
            self._by_node[node][new.uid] = new

    def forget(self, uid: str) -> None:
        """The pod of this uid does not wait any more; one that was not nominated is no error."""
        node = self._decided.pop(uid, "")
        if node:
            pods = self._by_node[node]
            del pods[uid]
            if not pods:
                del self._by_node[node]
