"""Plugins of kube-scheduler that profiles enable and this build does not have yet.

A pod that such a plugin would judge is not placed as if it asked for nothing: it is parked, and its message names the
plugin that it needs, and the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from scheduler_runtime.api import Cycle, NodeTable, Pod, Reject, Verdicts
from scheduler_runtime.catalog import Version
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.state.objects import Volume

FieldOf = Callable[[Pod], str]
"""The field of a pod that a plugin looks at; empty when the pod has nothing for it to judge."""

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
_CLAIMED_VOLUMES = ("persistent_volume_claim", "ephemeral")
_ORDINARY_VOLUME = Volume()
"""A volume of none of these kinds, as each pod has for its token."""


def _volume_field(*kinds: str) -> FieldOf:
    """Return a function that names the first of these ``kinds`` of volumes that a pod has."""

    def field(pod: Pod) -> str:
        for kind in kinds:  # in this order: the field that most of the plugins look at is named first
            if any(getattr(volume, kind) is not None for volume in pod.spec.volumes):
                first, *others = kind.split("_")
                return f"spec.volumes[*].{first}{''.join(map(str.title, others))}"
        return ""

    return field


FIELDS: Mapping[str, FieldOf] = MappingProxyType(
    {
        "VolumeRestrictions": _volume_field(*_CLAIMED_VOLUMES, *_RESTRICTED_VOLUMES),
        "NodeVolumeLimits": _volume_field(*_CLAIMED_VOLUMES, *_MIGRATED_VOLUMES),
        "VolumeBinding": _volume_field(*_CLAIMED_VOLUMES),
        "VolumeZone": _volume_field(*_CLAIMED_VOLUMES),
        "DynamicResources": lambda pod: "spec.resourceClaims" if pod.spec.resource_claims else "",
    }
)
"""The in-tree plugins that can reject a pod, and the fields they look at."""


def needed_plugins(pod: Pod, missing: Mapping[str, FieldOf]) -> dict[str, str]:
    """Return the plugins of ``missing`` that would judge ``pod``, each with the field it would look at."""
    spec = pod.spec
    # Most pods have nothing for any of them: this is asked in every decision.
    if not (spec.resource_claims or spec.volumes.count(_ORDINARY_VOLUME) < len(spec.volumes)):
        return {}
    return {plugin: field for plugin, field_of in missing.items() if (field := field_of(pod))}


def message_for(needed: Mapping[str, str]) -> str:
    """Return the message of a pod that needs these plugins for these fields, with the way out for its author."""
    by_field: list[str] = []
    for field in dict.fromkeys(needed.values()):
        *others, last = (plugin for plugin, looked_at in needed.items() if looked_at == field)
        by_field.append(f"{', '.join(others)} and {last} ({field})" if others else f"{last} ({field})")
    needs = ", and ".join(by_field)
    fields = "that field" if len(by_field) == 1 else "those fields"
    return f"pod needs {needs}, which Berth does not have yet: use another scheduler for it, or leave {fields} out"


@dataclass(frozen=True, slots=True)
class ReasonsAfterFilters:
    """The ``post_filter`` of DynamicResources for pods without claims: its text is part of every message.

    Upstream's notes in its ``PreFilter`` that a pod has no claims. Where a plugin before it rejected the pod for good,
    it misses that note: an error, after which no other plugin runs.
    """

    texts: tuple[str, ...]
    before: frozenset[str]
    """The plugins whose ``pre_filter`` comes first."""

    def __call__(self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle) -> tuple[str, ...] | Reject:
        """Answer as its ``post_filter``."""
        return Reject.pod("not found") if verdicts.ended_by & self.before else self.texts


def reasons_after_filters(plugin: str, profile: EffectiveProfile, version: Version) -> ReasonsAfterFilters | None:
    """Return the ``post_filter`` in the place of ``plugin``, which this build lacks; None if it adds nothing."""
    if plugin != "DynamicResources":
        return None
    points = [enabled.name for enabled in profile.points.get("preFilter", ())]
    before = points[: points.index(plugin)] if plugin in points else points
    texts = () if version.at_least("1.37") else ("no new claims to deallocate",)
    return ReasonsAfterFilters(texts, frozenset(before))
