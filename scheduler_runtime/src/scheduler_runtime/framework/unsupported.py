"""Pods that a plugin would judge which the profile enables and this build does not have.

Such a pod is not placed as if it asked for nothing: it is parked, and told which plugin it needs, and for
which of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from scheduler_runtime.api import Cycle, NodeTable, Pod, Reject, Verdicts
from scheduler_runtime.catalog import Version
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.state.objects import Volume

Judged = Callable[[Pod], str]
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
_ORDINARY = Volume()
"""As a pod has for its token, and most have besides."""
_CLAIMED_VOLUMES = ("persistent_volume_claim", "ephemeral")


def _is_plain(pod: Pod) -> bool:
    """Whether nothing in ``pod`` concerns any of the plugins below, as in most pods."""
    spec = pod.spec
    return not (spec.resource_claims or (spec.volumes and any(volume != _ORDINARY for volume in spec.volumes)))


def _claims(pod: Pod) -> str:
    return "spec.resourceClaims" if pod.spec.resource_claims else ""


def _volumes(*kinds: str) -> Judged:
    def judged(pod: Pod) -> str:
        found = (kind for kind in kinds for volume in pod.spec.volumes if getattr(volume, kind) is not None)
        return f"spec.volumes[*].{_camel(kind)}" if (kind := next(found, "")) else ""

    return judged


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


JUDGED_BY: Mapping[str, Judged] = MappingProxyType(
    {
        "VolumeRestrictions": _volumes(*_CLAIMED_VOLUMES, *_RESTRICTED_VOLUMES),
        "NodeVolumeLimits": _volumes(*_CLAIMED_VOLUMES, *_MIGRATED_VOLUMES),
        "VolumeBinding": _volumes(*_CLAIMED_VOLUMES),
        "VolumeZone": _volumes(*_CLAIMED_VOLUMES),
        "DynamicResources": _claims,
    }
)
"""In-tree plugins that can reject a pod, and what they look at."""


def needed_but_missing(pod: Pod, missing: Mapping[str, Judged]) -> dict[str, str]:
    """The plugins of ``missing`` that would judge ``pod``, each with the field it would look at."""
    if _is_plain(pod):
        return {}
    return {plugin: field for plugin, judged in missing.items() if (field := judged(pod))}


def explain(needed: Mapping[str, str]) -> str:
    """Say which plugins a pod needs for which fields, and what its author can do."""
    needs = ", and ".join(_by_field(needed))
    fields = "that field" if len(set(needed.values())) == 1 else "those fields"
    return f"pod needs {needs}, which Berth does not have yet: use another scheduler for it, or leave {fields} out"


def _by_field(needed: Mapping[str, str]) -> Iterator[str]:
    for field in dict.fromkeys(needed.values()):
        *others, last = (plugin for plugin, looked_at in needed.items() if looked_at == field)
        yield f"{', '.join(others)} and {last} ({field})" if others else f"{last} ({field})"


@dataclass(frozen=True, slots=True)
class Words:
    """What DynamicResources says about every pod for which no node was found, also about pods without claims.

    It notes in its own ``pre_filter`` that a pod has none. Where a plugin before it has rejected the pod for good, its
    upstream counterpart misses that note: this is an error, so that nobody after it is asked.
    """

    words: tuple[str, ...]
    before: frozenset[str]
    """The plugins whose ``pre_filter`` comes first."""

    def __call__(self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle) -> tuple[str, ...] | Reject:
        """Be its ``post_filter``."""
        return Reject.pod("not found") if verdicts.ended_by & self.before else self.words


def said_after_filters(plugin: str, profile: EffectiveProfile, version: Version) -> Words | None:
    """What ``plugin``, which is not there, says about pods for which no node was found; None for nothing."""
    if plugin != "DynamicResources":
        return None
    points = [each.name for each in profile.points.get("preFilter", ())]
    before = points[: points.index(plugin)] if plugin in points else points
    return Words(() if version.at_least("1.37") else ("no new claims to deallocate",), frozenset(before))
