"""The objects that people write, as the API server has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class UserObject:
    """A SchedulerProfile or a PluginConfig. Its spec is as it was written: whoever reads it validates it."""

    kind: str
    name: str
    uid: str
    generation: int
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    annotations: Mapping[str, str] = field(default_factory=dict)
    created: str = ""

    @classmethod
    def from_object(cls, raw: Mapping[str, Any]) -> "UserObject":
        """Read the object that the API server sent."""
        metadata = raw["metadata"]
        return cls(
            kind=raw["kind"],
            name=metadata["name"],
            uid=metadata["uid"],
            generation=metadata["generation"],
            spec=raw.get("spec") or {},
            status=raw.get("status") or {},
            annotations=metadata.get("annotations") or {},
            created=metadata.get("creationTimestamp") or "",
        )
