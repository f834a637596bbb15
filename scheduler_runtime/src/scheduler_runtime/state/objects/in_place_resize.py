"""What a pod takes whose containers are resized in place: what it asks for, what it was given and what it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler_runtime.catalog.target import Target

if TYPE_CHECKING:
    from scheduler_runtime.state.objects.structs import Pod, PodStatus


@dataclass(frozen=True, slots=True)
class ResizeRules:
    """How a version of Kubernetes adds up what such a pod takes."""

    sums_are_compared: bool = False
    """Since 1.37 the sums over all containers are compared, before that each container by itself."""
    reads_pod_level: bool = True
    """Whether what the pod as a whole was given and has counts, too."""

    @classmethod
    def of(cls, target: Target) -> ResizeRules:
        """As the kube-scheduler that is meant does it."""
        return cls(target.version.at_least("1.37"), target.enabled("InPlacePodLevelResourcesVerticalScaling"))


BY_CONTAINER = ResizeRules()


def follows_from_spec(status: PodStatus) -> bool:
    """Whether the pod takes what its spec says: what a running pod really has may differ from it."""
    return not (
        status.container_statuses or status.init_container_statuses or status.resources or status.allocated_resources
    )


def is_infeasible(pod: Pod) -> bool:
    """Whether the node can never give ``pod`` what it asks for now, so that what it asks for does not count."""
    resizes = (condition for condition in pod.status.conditions if condition.type == "PodResizePending")
    resize = next(resizes, None)
    return resize is not None and resize.reason == "Infeasible"
