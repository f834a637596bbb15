"""What the API server says of pods and nodes, judged as it comes: knows no scheduler.

Every event of the watches is entered, so nothing is missed that lasted only a moment. Freed room shows here before
who uses it next, because the API server tells of it in that order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.soak.objects import PODS, Amounts, Node, Pod
from bench.soak.pod_families import APART

CORDONED_SECONDS = 30.0
"""How long after a node was cordoned a pod may still arrive there: the binding was under way, or the watch is late."""


@dataclass(slots=True)
class Ledger:
    """All pods and nodes, and what was wrong with them at any time."""

    pods: dict[str, Pod] = field(default_factory=dict)
    """By uid."""
    nodes: dict[str, Node] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    bound: int = 0
    """How many pods have got a node so far."""
    waits: list[float] = field(default_factory=list)
    """How many seconds each was without one, from its being seen or its gate's opening on; unimportant ones aside."""
    _on: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _families: dict[str, dict[str, Pod]] = field(default_factory=lambda: defaultdict(dict))
    _waits_since: dict[str, float] = field(default_factory=dict)
    _cordoned_at: dict[str, float] = field(default_factory=dict)

    # What the watches say

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

    def pod_gone(self, uid: str) -> None:
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

    def node_gone(self, name: str) -> None:
        """Strike a node out. Its pods stay there until somebody deletes them."""
        self.nodes.pop(name, None)
        self._cordoned_at.pop(name, None)

    # What is asked

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
        free = {priority: self._free(priority) for priority in {pod.spec.priority for pod in waiting}}
        return [pod for pod in waiting if any(self._fits(pod, *each) for each in free[pod.spec.priority])]

    def untold(self) -> list[Pod]:
        """The pods that wait and are not told why."""
        return [pod for pod in self.pods.values() if pod.waits and not pod.told]

    def counts(self) -> Counter[str]:
        """How many pods are ``bound``, ``waiting`` and ``gated``."""
        found = Counter(bound=0, waiting=0, gated=0)
        for pod in self.pods.values():
            found["bound" if pod.node else "gated" if pod.is_gated else "waiting"] += 1
        return found

    def asks(self) -> dict[tuple[str, ...], float]:
        """What pods ask for, by their node and the resource, in its unit; those that wait are on none."""
        asked: Counter[tuple[str, ...]] = Counter()
        for pod in self.pods.values():
            asked.update({(pod.node, resource): many for resource, many in pod.asks.items() if resource != PODS})
        return {of: many / 1000 for of, many in asked.items()}

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
        """Whether what is on a node may be there together."""
        pods, offers = self.on(node.name), node.offers
        for resource, asked in total(pods).items():
            if asked > offers.get(resource, 0):
                there = ", ".join(sorted(pod.name for pod in pods))
                has = f"{offers.get(resource, 0) / 1000:g} {resource}"
                self.wrong.append(f"{node.name} has {has} and pods that ask for {asked / 1000:g}: {there}")
        groups = Counter(pod.metadata.labels[APART] for pod in pods if APART in pod.metadata.labels)
        self.wrong += [f"{many} pods of {group} are on {node.name}" for group, many in groups.items() if many > 1]

    def _free(self, priority: int) -> list[tuple[Node, Amounts]]:
        """Each node, and what it has left when nobody less important than ``priority`` is there."""
        return [
            (node, Counter(node.offers) - total(pod for pod in self.on(node.name) if pod.spec.priority >= priority))
            for node in self.nodes.values()
        ]

    def _fits(self, pod: Pod, node: Node, free: Amounts) -> bool:
        group = pod.metadata.labels.get(APART)
        return (
            all(free.get(resource, 0) >= asked for resource, asked in pod.asks.items())
            and node.admits(pod)
            and not (group and any(each.metadata.labels.get(APART) == group for each in self.on(node.name)))
        )


def total(pods: Iterable[Pod]) -> Counter[str]:
    """What ``pods`` ask for together."""
    asked: Counter[str] = Counter()
    for pod in pods:
        asked.update(pod.asks)
    return asked


def names(pods: Iterable[Pod], most: int = 5) -> str:
    """A few of ``pods``, for messages."""
    every = sorted(pod.name for pod in pods)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def percentile(numbers: list[float], share: float) -> float:
    """The number that ``share`` of ``numbers`` do not exceed; 0 when there is none."""
    ordered = sorted(numbers)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0
