"""Pods that a plugin would judge which the profile enables and this build does not have.

Such a pod is not placed as if it asked for nothing: it is parked, and told which plugin it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..api import Pod

Needs = Callable[[Pod], bool]

_RESTRICTED_VOLUMES = ("gce_persistent_disk", "aws_elastic_block_store", "iscsi", "rbd")
_MIGRATED_VOLUMES = (
    "gce_persistent_disk",
    "aws_elastic_block_store",
    "azure_disk",
    "azure_file",
    "cinder",
    "vsphere_volume",
    "portworx_volume",
)


def _is_plain(pod: Pod) -> bool:
    """Whether nothing in ``pod`` concerns any of the plugins below, as in most pods."""
    spec = pod.spec
    rare = spec.affinity or spec.topology_spread_constraints or spec.volumes or spec.resource_claims
    return not (rare or spec.init_containers or any(container.ports for container in spec.containers))


def _has_host_ports(pod: Pod) -> bool:
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return any(port.host_port for container in containers for port in container.ports)


def _has_hard_spread(pod: Pod) -> bool:
    return any(each.when_unsatisfiable == "DoNotSchedule" for each in pod.spec.topology_spread_constraints)


def _has_hard_pod_affinity(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    if affinity is None:
        return False
    kinds = (affinity.pod_affinity, affinity.pod_anti_affinity)
    return any(kind is not None and bool(kind.required) for kind in kinds)


def _has_claimed_volume(pod: Pod) -> bool:
    return any(volume.persistent_volume_claim or volume.ephemeral for volume in pod.spec.volumes)


def _has_restricted_volume(pod: Pod) -> bool:
    return _has_claimed_volume(pod) or _has_volume_of(pod, _RESTRICTED_VOLUMES)


def _has_limited_volume(pod: Pod) -> bool:
    return _has_claimed_volume(pod) or _has_volume_of(pod, _MIGRATED_VOLUMES)


def _has_volume_of(pod: Pod, kinds: tuple[str, ...]) -> bool:
    return any(getattr(volume, kind) is not None for volume in pod.spec.volumes for kind in kinds)


JUDGED_BY: Mapping[str, Needs] = MappingProxyType(
    {
        "NodePorts": _has_host_ports,
        "VolumeRestrictions": _has_restricted_volume,
        "NodeVolumeLimits": _has_limited_volume,
        "VolumeBinding": _has_claimed_volume,
        "VolumeZone": _has_claimed_volume,
        "PodTopologySpread": _has_hard_spread,
        "InterPodAffinity": _has_hard_pod_affinity,
        "DynamicResources": lambda pod: bool(pod.spec.resource_claims),
    }
)
"""In-tree plugins that can reject a pod, and the pods they look at."""


def needed_but_missing(pod: Pod, missing: Mapping[str, Needs]) -> list[str]:
    """The plugins of ``missing`` that would judge ``pod``."""
    if _is_plain(pod):
        return []
    return [plugin for plugin, needs in missing.items() if needs(pod)]
