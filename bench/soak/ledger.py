"""All pods and nodes of the API server, with every event judged as it arrives; independent of any scheduler.

Every event of the watches is entered, so no state is missed that lasted only a moment. Freed room shows here before
its next use, because the API server sends its events in that order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.soak.objects import PODS, Amounts, Node, Pod
from bench.soak.pod_families import APART

CORDONED_SECONDS = 30.0
"""The time after a cordon in which a pod may still arrive: the binding was under way, or the watch is late."""


@dataclass(slots=True)
class Ledger:
    """All pods and nodes, and their faults at any time."""

    pods: dict[str, Pod] = field(default_factory=dict)
    """By uid."""
    nodes: dict[str, Node] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    bound: int = 0
    """The number of pods that have got a node so far."""
    waits: list[float] = field(default_factory=list)
    """The seconds that each important pod was without a node, from its first event or the opening of its gate on."""
    _on: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _families: dict[str, dict[str, Pod]] = field(default_factory=lambda: defaultdict(dict))
    _waits_since: dict[str, float] = field(default_factory=dict)
    _cordoned_at: dict[str, float] = field(default_factory=dict)

    # Events of the watches

    def pod(self, pod: Pod, now: float) -> None:
        """Enter a pod as it is now."""
        before = self.pods.get(pod.uid)
        self.pods[pod.uid] = self._families[pod.family][pod.uid] = pod
        if pod.waits:
            self._waits_since.setdefault(pod.uid, now)
        if before and before.node and before.node != pod.node:
            self.wrong.append(f"{pod.name} was on {before.node} and is on {pod.node or 'no node'}")
        if pod.node and not (before and before.node):
            self._bound(pod, now)

    def remove_pod(self, uid: str) -> None:
        """Strike a pod out."""
        pod = self.pods.pop(uid, None)
        if pod:
            del self._families[pod.family][uid]
            self._on[pod.node].discard(uid)
            self._waits_since.pop(uid, None)

    def node(self, node: Node, now: float) -> None:
        """Enter a node as it is now."""
        is_new = node.name not in self.nodes
        self.nodes[node.name] = node
        if node.spec.unschedulable:
            self._cordoned_at.setdefault(node.name, now)
        else:
            self._cordoned_at.pop(node.name, None)
        if is_new:
            self._judge(node)

    def remove_node(self, name: str) -> None:
        """Strike a node out. Its pods stay there until somebody deletes them."""
        self.nodes.pop(name, None)
        self._cordoned_at.pop(name, None)

    # Questions

    def of(self, family: str) -> list[Pod]:
        """The pods of one family."""
        return list(self._families[family].values())

    def on(self, node: str) -> list[Pod]:
        """The pods on a node, whether or not it still exists."""
        return [self.pods[uid] for uid in self._on[node]]

    def orphans(self) -> list[Pod]:
        """The pods on nodes that do not exist."""
        return [pod for pod in self.pods.values() if pod.node and pod.node not in self.nodes]

    def lost(self) -> list[Pod]:
        """The pods that wait although a node has room for them, or would have without less important ones."""
        waiting = [pod for pod in self.pods.values() if pod.waits]
        free: dict[int, list[tuple[Node, Amounts]]] = {}
        for priority in {pod.spec.priority for pod in waiting}:
            # by node: the amounts that are left without the pods of lower priority
            free[priority] = [
                (node, Counter(node.offers) - total(pod for pod in self.on(node.name) if pod.spec.priority >= priority))
                for node in self.nodes.values()
            ]
        return [
            pod for pod in waiting if any(self._fits(pod, *node_and_free) for node_and_free in free[pod.spec.priority])
        ]

    def unexplained(self) -> list[Pod]:
        """The pods that wait without a reason in their status."""
        return [pod for pod in self.pods.values() if pod.waits and not pod.reason]

    def counts(self) -> Counter[str]:
        """The numbers of pods that are ``bound``, ``waiting`` and ``gated``."""
        counts = Counter(bound=0, waiting=0, gated=0)
        for pod in self.pods.values():
            counts["bound" if pod.node else "gated" if pod.is_gated else "waiting"] += 1
        return counts

    def asks(self) -> dict[tuple[str, ...], float]:
        """The requests of pods, by node and resource, in its unit; pods that wait have the node ''."""
        amounts: Counter[tuple[str, ...]] = Counter()
        for pod in self.pods.values():
            amounts.update({(pod.node, resource): amount for resource, amount in pod.asks.items() if resource != PODS})
        return {key: amount / 1000 for key, amount in amounts.items()}

    # Judging

    def _bound(self, pod: Pod, now: float) -> None:
        self.bound += 1
        since = self._waits_since.pop(pod.uid, None)
        if since is not None and pod.spec.priority >= 0:
            self.waits.append(now - since)
        self._on[pod.node].add(pod.uid)
        cordoned_at = self._cordoned_at.get(pod.node)
        if cordoned_at is not None and now - cordoned_at > CORDONED_SECONDS:
            self.wrong.append(f"{pod.name} came to {pod.node}, cordoned {now - cordoned_at:.0f} s before")
        if node := self.nodes.get(pod.node):
            self._judge(node)

    def _judge(self, node: Node) -> None:
        """Note the faults of a node: more requests than it offers, or pods that avoid each other."""
        pods, offers = self.on(node.name), node.offers
        for resource, requested in total(pods).items():
            if requested > offers.get(resource, 0):
                pod_names = ", ".join(sorted(pod.name for pod in pods))
                has = f"{offers.get(resource, 0) / 1000:g} {resource}"
                self.wrong.append(f"{node.name} has {has} and pods that ask for {requested / 1000:g}: {pod_names}")
        groups = Counter(pod.metadata.labels[APART] for pod in pods if APART in pod.metadata.labels)
        self.wrong += [f"{count} pods of {group} are on {node.name}" for group, count in groups.items() if count > 1]

    def _fits(self, pod: Pod, node: Node, free: Amounts) -> bool:
        group = pod.metadata.labels.get(APART)
        return (
            all(free.get(resource, 0) >= requested for resource, requested in pod.asks.items())
            and node.admits(pod)
            and not (group and any(other.metadata.labels.get(APART) == group for other in self.on(node.name)))
        )


def total(pods: Iterable[Pod]) -> Counter[str]:
    """The requests of ``pods`` together."""
    amounts: Counter[str] = Counter()
    for pod in pods:
        amounts.update(pod.asks)
    return amounts


def names(pods: Iterable[Pod], most: int = 5) -> str:
    """A few of ``pods``, for messages."""
    every = sorted(pod.name for pod in pods)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def percentile(numbers: list[float], share: float) -> float:
    """The number that ``share`` of ``numbers`` do not exceed; 0 when there is none."""
    ordered = sorted(numbers)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0
