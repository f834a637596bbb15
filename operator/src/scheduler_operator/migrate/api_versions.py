"""The versions of KubeSchedulerConfiguration there ever were, and how each differs from v1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

GROUP = "kubescheduler.config.k8s.io"


@dataclass(frozen=True, slots=True)
class ApiVersion:
    """One version of the document."""

    name: str
    read_by: str
    """The Kubernetes versions whose kube-scheduler reads it."""
    changes: str = ""
    """What is different today, as a sentence."""
    scores_least_allocated: bool = False
    """Whether NodeResourcesLeastAllocated was a plugin, and a default."""
    has_old_weights: bool = False
    """Whether TaintToleration, NodeAffinity and InterPodAffinity weighed 1 by default."""
    lists_own_spreading: bool = False
    """Whether defaultConstraints alone made PodTopologySpread's defaultingType List."""
    is_alpha: bool = False
    is_strict: bool = True
    """Whether kube-scheduler refuses fields that the version does not have."""

    @property
    def reads_multi_point(self) -> bool:
        """Whether multiPoint counts: v1beta2 has the field and ignores it. The weights grew together with it."""
        return not self.has_old_weights

    @property
    def is_old(self) -> bool:
        """Whether another version took its place."""
        return bool(self.changes)


_SINCE = "SchedulingGates, DynamicResources and NodeDeclaredFeatures came since and run by default"
_BETA1 = (
    f"{_SINCE}; NodeResourcesFit scores in the place of NodeResourcesLeastAllocated; "
    "NodePreferAvoidPods and the volume limits of single clouds are gone"
)

VERSIONS: Mapping[str, ApiVersion] = MappingProxyType(
    {
        version.name: version
        for version in (
            ApiVersion("v1", "1.25 and later"),
            ApiVersion("v1beta3", "1.23 to 1.28", f"{_SINCE}; the volume limits of single clouds are gone"),
            ApiVersion(
                "v1beta2",
                "1.22 to 1.27",
                f"{_SINCE}; the volume limits of single clouds are gone",
                has_old_weights=True,
            ),
            ApiVersion("v1beta1", "1.19 to 1.22", _BETA1, True, True, lists_own_spreading=True),
            ApiVersion("v1alpha2", "1.18", _BETA1, True, True, lists_own_spreading=True, is_alpha=True),
            ApiVersion(
                "v1alpha1", "1.12 to 1.17", _BETA1, True, True, lists_own_spreading=True, is_alpha=True, is_strict=False
            ),
        )
    }
)
"""By name, the newest first."""
