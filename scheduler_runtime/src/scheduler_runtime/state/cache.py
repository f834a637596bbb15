"""The scheduler's cache: nodes, and the pods on them, including pods whose binding is not confirmed yet.

            assume                confirm (a watch shows it bound)
  no node ─────────► assumed ─────────────────────────────────────► added ──► no node
     ▲                  │                                                      (deleted, ended)
     └──────────────────┘
        forget (the binding failed)

As upstream's pkg/scheduler/backend/cache, with one difference: nothing expires. Each path out of a binding either
forgets the pod or sees it confirmed. What a watch reports is the truth and overrides an assumption. The table counts
exactly the pods of this cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from scheduler_runtime.state.claimed_victims import ClaimedVictims
from scheduler_runtime.state.objects import Node, Pod
from scheduler_runtime.state.table import Table


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod and its node. ``assumed``: this scheduler has decided so, and no watch has confirmed it yet."""

    pod: Pod
    node: str
    assumed: bool

    @property
    def pod_on_node(self) -> Pod:
        """The pod with its node in its spec, also while the binding is only assumed."""
        return replace(self.pod, spec=replace(self.pod.spec, node_name=self.node))


class Cache:
    """Nodes and the pods on them. Writes the table that decisions read."""

    def __init__(self, table: Table | None = None) -> None:
        self.table = Table() if table is None else table
        self._pods: dict[str, PlacedPod] = {}
        self.victims = ClaimedVictims()
        """Those of the pods that have to leave."""

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> PlacedPod | None:
        """Return the pod with this uid and its node; None when it has no node."""
        return self._pods.get(uid)

    def snapshot(self) -> list[PlacedPod]:
        """Return all pods that have a node, as of now. May be called from another thread."""
        return list(self._pods.values())

    def is_assumed(self, uid: str) -> bool:
        """True if the pod has a node by this scheduler's decision only."""
        placed = self._pods.get(uid)
        return placed is not None and placed.assumed

    # What this scheduler decides.

    def assume(self, pod: Pod, node_name: str) -> None:
        """Count ``pod`` on the node from now on. Raises ValueError if it has a node already."""
        uid = pod.metadata.uid
        placed = self._pods.get(uid)
        if placed:
            raise ValueError(f"pod {pod.key} ({uid}) is on node {placed.node} already")
        # The table first: it writes nothing of a pod for which it raises, and then the pod is not here either.
        self.table.add_pod(pod, node_name)
        self._pods[uid] = PlacedPod(pod, node_name, assumed=True)

    def forget(self, pod: Pod) -> PlacedPod | None:
        """Take back an assumption and return it; None when there is none.

        A pod that was confirmed meanwhile stays: it runs there, whatever became of our request.
        """
        return self.remove(pod.metadata.uid) if self.is_assumed(pod.metadata.uid) else None

    # What a watch reports.

    def add(self, pod: Pod) -> None:
        """Count ``pod`` on the node it is bound to, wherever it was counted or assumed before."""
        uid, node = pod.metadata.uid, pod.spec.node_name
        placed = self._pods.get(uid)
        if placed is not None and placed.node == node:
            if placed.pod.metadata.deletion_timestamp and not pod.metadata.deletion_timestamp:
                self.victims.forget(uid)  # a backup was restored: nobody deletes the pod, so it has to be asked again
            self.table.replace_pod(pod, node)
            self._pods[uid] = PlacedPod(pod, node, assumed=False)
            return
        # Another scheduler, or an earlier life of this one, may have bound the pod elsewhere than was assumed.
        self.remove(uid)
        self.table.add_pod(pod, node)
        self._pods[uid] = PlacedPod(pod, node, assumed=False)

    def remove(self, uid: str) -> PlacedPod | None:
        """Remove a pod that was deleted or has ended, assumed or not; return it as it was here."""
        placed = self._pods.get(uid)
        if placed:
            self.table.remove_pod(placed.pod, placed.node)  # first, as in ``assume``: if it raises, the pod is in both
            del self._pods[uid]
            self.victims.forget(uid)
        return placed

    def set_node(self, node: Node) -> None:
        """Add a node, or replace the one of its name."""
        self.table.set_node(node)

    def remove_node(self, name: str) -> None:
        """Remove a node. Its pods stay in the cache and count again if the node comes back."""
        self.table.remove_node(name)
