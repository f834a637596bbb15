"""Versions of a pod that differ in nothing that is counted."""

from __future__ import annotations

from msgspec.structs import force_setattr

from ..wire import Pod, PodStatus


def counts_alike(old: Pod, new: Pod) -> bool:
    """Whether two versions of a pod count the same on their node. What was derived from the old one is handed on."""
    if old.spec is not new.spec and (
        old.spec.containers != new.spec.containers
        or old.spec.affinity != new.spec.affinity
        or old.spec.init_containers != new.spec.init_containers
        or old.spec.overhead != new.spec.overhead
        or old.spec.resources != new.spec.resources
    ):
        return False
    if (
        old.metadata.labels != new.metadata.labels
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or (old.status != new.status and _resized(old.status, new.status))
    ):
        return False
    if new.derived is None and old.derived is not None:
        force_setattr(new, "derived", old.derived)
    if new.terms is None and old.terms is not None:
        force_setattr(new, "terms", old.terms)
    return True


def _resized(old: PodStatus, new: PodStatus) -> bool:
    return (
        old.container_statuses != new.container_statuses
        or old.init_container_statuses != new.init_container_statuses
        or old.resources != new.resources
        or old.allocated_resources != new.allocated_resources
        or old.conditions != new.conditions
    )
