"""Versions of a pod that differ in nothing that is counted."""

from __future__ import annotations

from msgspec.structs import force_setattr

from scheduler_runtime.state.objects import Pod
from scheduler_runtime.state.objects.in_place_resize import follows_from_spec, is_infeasible


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
        or (old.status != new.status and _may_take_other_than(old, new) and not _takes_the_same(old, new))
    ):
        return False
    if new.derived is None and old.derived is not None:
        force_setattr(new, "derived", old.derived)
    if new.terms is None and old.terms is not None:
        force_setattr(new, "terms", old.terms)
    return True


def _may_take_other_than(old: Pod, new: Pod) -> bool:
    """Whether what ``new`` takes may differ from what ``old`` took though their specs agree: one was resized."""
    before, after = old.status, new.status
    if follows_from_spec(before) and follows_from_spec(after):
        return False
    return (
        before.container_statuses != after.container_statuses
        or before.init_container_statuses != after.init_container_statuses
        or before.resources != after.resources
        or before.allocated_resources != after.allocated_resources
        or is_infeasible(old) != is_infeasible(new)
    )


def _takes_the_same(old: Pod, new: Pod) -> bool:
    """Whether both were read and what they take is known to agree, as when a pod runs with what it asked for."""
    return new.derived is not None and new.derived is not old.derived and new.derived == old.derived
