"""Which pod is on which node, as far as we know, including what we have decided and not yet been told.

            assume                confirm (a watch shows it bound)
  nowhere ─────────► assumed ─────────────────────────────────────► added ──► nowhere
     ▲                  │                                                      (deleted, ended)
     └──────────────────┘
        forget (the binding failed)

Nothing expires: each path out of a binding either forgets the pod or sees it confirmed. What a watch
shows is the truth and overrides an assumption. The table always counts exactly the pods held here.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from scheduler_runtime.state.objects import Node, Pod
from scheduler_runtime.state.table import Table


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod, its node, and whether only we say so."""

    pod: Pod
    node: str
    assumed: bool

    @property
    def pod_on_node(self) -> Pod:
        """The pod with its node in it, also while only we say that it has one."""
        return replace(self.pod, spec=replace(self.pod.spec, node_name=self.node))


class Cache:
    """Nodes and the pods on them; writes the table that decisions read."""

    def __init__(self, table: Table | None = None) -> None:
        self.table = Table() if table is None else table
        self._held: dict[str, PlacedPod] = {}

    def __len__(self) -> int:
        return len(self._held)

    def get(self, uid: str) -> PlacedPod | None:
        """Return what is known of the pod with this uid, if it has a node."""
        return self._held.get(uid)

    def snapshot(self) -> list[PlacedPod]:
        """Return everything that is held. May be asked from another thread."""
        return list(self._held.values())

    def is_assumed(self, uid: str) -> bool:
        held = self._held.get(uid)
        return held is not None and held.assumed

    # What we decide

    def assume(self, pod: Pod, node_name: str) -> None:
        """Count ``pod`` on the node from now on. Raises ValueError if it has a node already."""
        held = self._held.get(pod.uid)
        if held:
            raise ValueError(f"pod {pod.key} ({pod.uid}) is on node {held.node} already")
        self._hold(PlacedPod(pod, node_name, assumed=True))

    def forget(self, pod: Pod) -> PlacedPod | None:
        """Take back an assumption and return it. A pod that was confirmed meanwhile stays, because it is there."""
        return self._release(pod.uid) if self.is_assumed(pod.uid) else None

    # What a watch shows

    def add(self, pod: Pod) -> None:
        """Hold ``pod`` on the node it is bound to, wherever it was held or assumed before."""
        uid, node = pod.metadata.uid, pod.spec.node_name
        held = self._held.get(uid)
        if held is not None and held.node == node:
            self._held[uid] = PlacedPod(pod, node, assumed=False)
            self.table.replace_pod(pod, node)
            return
        self._release(uid)
        self._hold(PlacedPod(pod, node, assumed=False))

    def remove(self, uid: str) -> PlacedPod | None:
        """Forget a pod that is gone or has ended, assumed or not; return what was known of it."""
        return self._release(uid)

    def set_node(self, node: Node) -> None:
        self.table.set_node(node)

    def remove_node(self, name: str) -> None:
        """Drop a node. Its pods stay known and count again if it comes back."""
        self.table.remove_node(name)

    def _hold(self, held: PlacedPod) -> None:
        self._held[held.pod.uid] = held
        self.table.add_pod(held.pod, held.node)

    def _release(self, uid: str) -> PlacedPod | None:
        held = self._held.pop(uid, None)
        if held:
            self.table.remove_pod(held.pod, held.node)
        return held
