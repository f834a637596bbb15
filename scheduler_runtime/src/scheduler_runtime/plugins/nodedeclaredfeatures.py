"""NodeDeclaredFeatures: node features that some pods cannot do without (KEP-5328).

Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures and k8s.io/component-helpers/nodedeclaredfeatures.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from scheduler_runtime.api import QUEUE, SKIP, Answer, Cycle, Event, Handle, NodeTable, Plugin, Pod, Reject
from scheduler_runtime.catalog import Version, in_tree
from scheduler_runtime.state.objects import PodSpec

_UNMET = "node(s) didn't match Pod's required features"


class NodeDeclaredFeatures(Plugin):
    """Keep pods off nodes that do not declare a feature which follows from the pod's spec."""

    declaration = in_tree()["NodeDeclaredFeatures"]
    row_local = True
    looks_at_pods = False

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        version = Version.parse(handle.version)
        of_version = [(name, needs) for name, since, needs in _NEEDS if version.at_least(since)]
        self.needs = of_version if handle.enabled("NodeDeclaredFeatures") else []
        self.names_features = not version.at_least("1.36")

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return self._required(pod) or SKIP

    def filter(self, pod: Pod, nodes: NodeTable, state: tuple[str, ...] | None) -> Iterator[Reject]:
        required = self._required(pod) if state is None else state
        reasons = [self._reason(required, declared) for declared in nodes.feature_sets]
        for reason in dict.fromkeys(filter(None, reasons)):
            rows = np.array([one == reason for one in reasons], np.bool_)[nodes.feature_set_ids]
            yield Reject(rows, reason, resolvable=False)

    def filter_row(self, pod: Pod, nodes: NodeTable, state: tuple[str, ...] | None, row: int) -> Iterator[Reject]:
        required = self._required(pod) if state is None else state
        reason = self._reason(required, nodes.feature_sets[nodes.feature_set_ids.item(row)])
        if reason:
            yield Reject(True, reason, resolvable=False)

    def hint(self, event: Event, pod: Pod) -> Answer:
        if event.resource == "Node":
            old = event.old and event.old.status.declared_features
            return QUEUE if event.old is None or old != event.new.status.declared_features else SKIP
        is_own = event.new.metadata.uid == pod.metadata.uid
        return QUEUE if is_own and self._required(event.old) != self._required(event.new) else SKIP

    def signature(self, pod: Pod) -> Hashable:
        return self._required(pod)

    def _required(self, pod: Pod) -> tuple[str, ...]:
        return tuple([name for name, needs in self.needs if needs(pod.spec)])

    def _reason(self, required: tuple[str, ...], declared: tuple[str, ...]) -> str:
        missing = [feature for feature in required if feature not in declared]
        if missing and self.names_features:
            return f"node declared features check failed - unsatisfied requirements: {', '.join(missing)}"
        return _UNMET if missing else ""


def _restarts_all(spec: PodSpec) -> bool:
    for container in spec.containers + spec.init_containers:
        if any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules):
            return True
    return False


def _maps_users_on_the_hosts_network(spec: PodSpec) -> bool:
    return spec.host_network and spec.host_users is False


def _binds_with_options(spec: PodSpec) -> bool:
    for container in spec.containers + spec.init_containers + spec.ephemeral_containers:
        for mount in container.volume_mounts:
            if mount.bind_mount_options:
                return True
    return False


_NEEDS: tuple[tuple[str, str, Callable[[PodSpec], bool]], ...] = (
    ("RestartAllContainersOnContainerExits", "1.35", _restarts_all),
    ("UserNamespacesHostNetworkSupport", "1.36", _maps_users_on_the_hosts_network),
    ("VolumeBindMountOptions", "1.37", _binds_with_options),
)
"""Features in the order of their names, the Kubernetes version since which they are inferred, and from which specs."""
