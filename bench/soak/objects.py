"""A pod and a node as the API server tells of them, as far as it matters to whoever keeps the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from bench.cluster.objects import Container, Offer
from bench.side_by_side.placement_check import amount
from bench.soak.pod_families import FAMILY

PODS = "pods"
Amounts = Mapping[str, int]


class Named(msgspec.Struct, rename="camel"):
    """What is read of an object's metadata."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None


class PodSpec(msgspec.Struct, rename="camel"):
    """What is read of a pod's spec."""

    containers: list[Container] = []
    node_name: str = ""
    node_selector: dict[str, str] = {}
    scheduler_name: str = ""
    priority: int = 0
    scheduling_gates: list[dict[str, str]] = []


class Condition(msgspec.Struct):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""


class PodStatus(msgspec.Struct):
    conditions: list[Condition] = []


class Pod(msgspec.Struct):
    """A pod, as far as it matters here."""

    metadata: Named
    spec: PodSpec
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def family(self) -> str:
        return self.metadata.labels.get(FAMILY, "")

    @property
    def node(self) -> str:
        return self.spec.node_name

    @property
    def is_gated(self) -> bool:
        return bool(self.spec.scheduling_gates)

    @property
    def waits(self) -> bool:
        """Whether it is for a scheduler to find it a node."""
        return not (self.node or self.is_gated or self.metadata.deletion_timestamp)

    @property
    def told(self) -> str:
        """Why it has no node, as its status says."""
        said = (one for one in self.status.conditions if one.type == "PodScheduled" and one.status == "False")
        return next((f"{one.reason}: {one.message}" for one in said if one.message), "")

    @property
    def asks(self) -> Counter[str]:
        """What it needs, in thousandths."""
        wants = Counter({PODS: 1000})
        for container in self.spec.containers:
            wants.update({each: round(amount(many) * 1000) for each, many in container.resources.requests.items()})
        return wants


class NodeSpec(msgspec.Struct):
    unschedulable: bool = False


class Node(msgspec.Struct):
    """A node, as far as it matters here."""

    metadata: Named
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: Offer = msgspec.field(default_factory=Offer)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def offers(self) -> Amounts:
        """What it has, in thousandths."""
        return {each: round(amount(many) * 1000) for each, many in self.status.allocatable.items()}

    def admits(self, pod: Pod) -> bool:
        """Whether ``pod`` may be there if there is room."""
        labels = self.metadata.labels
        return not self.spec.unschedulable and all(
            labels.get(key) == value for key, value in pod.spec.node_selector.items()
        )
