"""Names and owner references of generated objects: how they are found again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_operator.resources.authored import UserObject
from scheduler_operator.resources.group import API_VERSION, NAME_LENGTH
from scheduler_operator.resources.labels import MANAGED_BY, MANAGED_BY_LABEL, pod_labels

Object = dict[str, Any]

PLUGIN_PERMISSIONS = "berth-plugin-permissions"
"""The ClusterRole of the chart whose rules are what schedulers may be granted."""

RESERVED = ("catalog-permissions", "operator", "plugin-permissions")
"""Profiles that cannot be: the chart has made objects that would be theirs."""

OWN_NAME = f"berth needs the names {', '.join(RESERVED)} for itself: give the profile another one"
NOT_A_NAME = (
    f"is not a name for a profile; write at most {NAME_LENGTH} lower-case letters, digits and hyphens, "
    "with a letter or a digit at both ends"
)
TAKES_THE_PLACE = (
    "default-scheduler belongs to the cluster's own scheduler: "
    "set spec.replacesDefaultScheduler: true to take its place"
)


@dataclass(frozen=True, slots=True)
class UidOf:
    """In a desired object: the uid of another, which is applied before it and has its uid only then."""

    kind: str
    name: str


def with_uids(wanted: Any, uids: Mapping[tuple[str, str], str]) -> Any:
    """``wanted`` with each UidOf in it replaced by the uid in ``uids``, by kind and name."""
    match wanted:
        case UidOf(kind, name):
            return uids[kind, name]
        case dict():
            return {key: with_uids(value, uids) for key, value in wanted.items()}
        case list():
            return [with_uids(value, uids) for value in wanted]
    return wanted


def generated_name(profile: str) -> str:
    """The name that all objects of a profile share."""
    return f"berth-{profile}"


def metadata(profile: UserObject, namespace: str | None, part: str = "") -> Object:
    """Metadata of an object generated for ``profile``; cluster-scoped without ``namespace``.

    ``part`` tells several of a kind apart; the colon before it keeps the name from being another profile's.

    The owner reference does not block the owner's deletion: that would need rights on its finalizers. There
    are no version labels: the API server refuses any change of a role that grants more than the operator has.
    """
    placed = {"namespace": namespace} if namespace else {}
    return {
        "name": f"{generated_name(profile.name)}:{part}" if part else generated_name(profile.name),
        **placed,
        "labels": {MANAGED_BY_LABEL: MANAGED_BY, **pod_labels(profile.name)},
        "ownerReferences": [
            {
                "apiVersion": API_VERSION,
                "kind": "SchedulerProfile",
                "name": profile.name,
                "uid": profile.uid,
                "controller": True,
            }
        ],
    }
