"""Pods and nodes of the API server, with the fields that the ledger needs.

The scheduler has structs of the same objects (``scheduler_runtime.state.objects``). They are not used here on purpose:
a field that the scheduler reads wrongly must not be read wrongly by its judge as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from bench.cluster.api import Container, Offer
from bench.side_by_side.placement_check import amount
from bench.soak.pod_families import FAMILY

PODS = "pods"
Amounts = Mapping[str, int]


class Named(msgspec.Struct, rename="camel"):
    """The metadata that the ledger needs."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None


class PodSpec(msgspec.Struct, rename="camel"):
    """The spec that the ledger needs."""

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
    """A pod, with the fields that the ledger needs."""

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
        """True if the pod needs a node from a scheduler."""
        return not (self.node or self.is_gated or self.metadata.deletion_timestamp)

    @property
    def reason(self) -> str:
        """The reason why the pod has no node, from its status."""
        conditions = (
            condition
            for condition in self.status.conditions
            if condition.type == "PodScheduled" and condition.status == "False"
        )
        return next((f"{condition.reason}: {condition.message}" for condition in conditions if condition.message), "")

    @property
    def asks(self) -> Counter[str]:
        """The requests of the pod, in thousandths."""
        amounts = Counter({PODS: 1000})
        for container in self.spec.containers:
            amounts.update(
                {
                    resource: round(amount(quantity) * 1000)
                    for resource, quantity in container.resources.requests.items()
                }
            )
        return amounts


class NodeSpec(msgspec.Struct):
    unschedulable: bool = False


class Node(msgspec.Struct):
    """A node, with the fields that the ledger needs."""

    metadata: Named
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: Offer = msgspec.field(default_factory=Offer)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def offers(self) -> Amounts:
        """The allocatable amounts of the node, in thousandths."""
        return {resource: round(amount(quantity) * 1000) for resource, quantity in self.status.allocatable.items()}

    def admits(self, pod: Pod) -> bool:
        """True if ``pod`` may be on this node when there is room."""
        labels = self.metadata.labels
        return not self.spec.unschedulable and all(
            labels.get(key) == value for key, value in pod.spec.node_selector.items()
        )
