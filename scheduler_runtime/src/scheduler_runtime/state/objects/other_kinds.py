"""Objects beside pods and nodes that in-tree plugins read: namespaces, owners of pods, disruption budgets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from scheduler_runtime.kube.watch.envelopes import Wire
from scheduler_runtime.state.objects.structs import LabelSelector, ObjectMeta


class Namespace(Wire, frozen=True, gc=False):
    """A namespace; only its labels are read."""

    metadata: ObjectMeta


class EqualitySelectorSpec(Wire, frozen=True, gc=False):
    """The spec of an object that selects pods by the old kind of selector: labels that must be equal."""

    selector: dict[str, str] | None = None


class Service(Wire, frozen=True, gc=False):
    """A service."""

    metadata: ObjectMeta
    spec: EqualitySelectorSpec = EqualitySelectorSpec()


class ReplicationController(Wire, frozen=True, gc=False):
    """A replication controller."""

    metadata: ObjectMeta
    spec: EqualitySelectorSpec = EqualitySelectorSpec()


class SelectorSpec(Wire, frozen=True, gc=False):
    """The spec of an object that selects pods by a label selector."""

    selector: LabelSelector | None = None


class ReplicaSet(Wire, frozen=True, gc=False):
    """A replica set."""

    metadata: ObjectMeta
    spec: SelectorSpec = SelectorSpec()


class StatefulSet(Wire, frozen=True, gc=False):
    """A stateful set."""

    metadata: ObjectMeta
    spec: SelectorSpec = SelectorSpec()


class PodDisruptionBudgetStatus(Wire, frozen=True, gc=False):
    """How many pods may be disrupted now, and those whose eviction is under way already, by name."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] | None = None


class PodDisruptionBudget(Wire, frozen=True, gc=False):
    """How many pods of a selection may be disrupted at a time."""

    metadata: ObjectMeta
    spec: SelectorSpec = SelectorSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class ConfigMap(Wire, frozen=True, gc=False):
    """A config map, for plugins that keep something of theirs in one."""

    metadata: ObjectMeta
    data: dict[str, str] = msgspec.field(default_factory=dict)


KINDS: Mapping[tuple[str, str], type[Wire]] = MappingProxyType(
    {
        ("v1", "ConfigMap"): ConfigMap,
        ("v1", "Namespace"): Namespace,
        ("v1", "Service"): Service,
        ("v1", "ReplicationController"): ReplicationController,
        ("apps/v1", "ReplicaSet"): ReplicaSet,
        ("apps/v1", "StatefulSet"): StatefulSet,
        ("policy/v1", "PodDisruptionBudget"): PodDisruptionBudget,
    }
)
"""The kinds that plugins may watch and get decoded, by API version and kind. Any other kind they get as it is."""
