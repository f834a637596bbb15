"""What else is at hand while one input is read: files by name, and the ConfigMaps among the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_operator.migrate.parts import Part


@dataclass(slots=True)
class Context:
    """Where a manifest finds what its flags and volumes name. What it finds is used up by it."""

    files: Mapping[str, str]
    config_maps: dict[str, Part] = field(default_factory=dict)
    """By name."""
    documents: list[Part] = field(default_factory=list)
    """Configurations that stand alone among the inputs."""
    used: set[int] = field(default_factory=set)
    """The identities of the inputs that another one has used."""

    def file(self, path: str) -> str | None:
        """The content of the file that a flag names by its full path, or of one called the same."""
        if path in self.files:
            return self.files[path]
        last = path.rpartition("/")[2]
        return next((text for name, text in self.files.items() if name.rpartition("/")[2] == last), None)

    def config_map(self, name: str) -> Part | None:
        """The ConfigMap of that name, which is used up by the call."""
        found = self.config_maps.get(name)
        if found is not None:
            self.used.add(id(found))
        return found

    def only_document(self) -> Part | None:
        """The configuration that can be meant because there is no other; it is used up by the call."""
        left = [part for part in self.documents if id(part) not in self.used]
        if len(left) != 1:
            return None
        self.used.add(id(left[0]))
        return left[0]
