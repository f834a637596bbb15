"""The objects that users write (SchedulerProfile, PluginConfig), and the status that the operator writes to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime.catalog.bounds import describe_excess

Status = dict[str, Any]


@dataclass(frozen=True, slots=True)
class UserObject:
    """A SchedulerProfile or a PluginConfig, with its spec as the user wrote it: each reader validates what it uses."""

    kind: str
    name: str
    uid: str
    generation: int
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    annotations: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    unreadable: str = ""
    """Why the spec could not be read; it is empty then."""

    @classmethod
    def from_object(cls, raw: Mapping[str, Any]) -> "UserObject":
        """Read an object as the API server sends it; a spec beyond the bounds is left out, with the reason."""
        metadata, spec = raw["metadata"], raw.get("spec") or {}
        unreadable = describe_excess(spec, "spec")
        return cls(
            kind=raw["kind"],
            name=metadata["name"],
            uid=metadata["uid"],
            generation=metadata["generation"],
            spec={} if unreadable else spec,
            status=raw.get("status") or {},
            annotations=metadata.get("annotations") or {},
            created=metadata.get("creationTimestamp") or "",
            unreadable=unreadable,
        )


def with_transition_times(status: Status, before: Mapping[str, Any], now: str) -> Status:
    """Return ``status`` with a ``lastTransitionTime`` in each condition.

    A condition keeps the time of ``before``, the status until now, unless its own ``status`` field changed.
    """
    before_by_type = {condition["type"]: condition for condition in before.get("conditions", [])}
    conditions = []
    for condition in status["conditions"]:
        old = before_by_type.get(condition["type"])
        unchanged = old is not None and old["status"] == condition["status"]
        conditions.append({**condition, "lastTransitionTime": old["lastTransitionTime"] if old and unchanged else now})
    return {**status, "conditions": conditions}
