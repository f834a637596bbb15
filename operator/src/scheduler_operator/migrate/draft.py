"""What every kind of input is read into: one scheduler process and its profiles, in today's words.

input ──► Process (draft) ──► without what v1 no longer has ──► shortest form ──► objects
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime import catalog
from scheduler_runtime.catalog import NEWEST_MINOR, Version

POINTS = tuple(catalog.defaults(Version.parse(NEWEST_MINOR)).points_in_order())
"""The extension points in the order in which a profile shows them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A plugin that the input enables or disables, and where it does so."""

    name: str
    weight: int | None = None
    path: str = ""


@dataclass(slots=True)
class PluginChanges:
    """What the input changes at one extension point."""

    enabled: list[Entry] = field(default_factory=list)
    disabled: list[Entry] = field(default_factory=list)

    def disables(self, name: str) -> bool:
        """Whether the default plugin called ``name`` is off here."""
        return any(entry.name in (name, "*") for entry in self.disabled)

    def enables(self, name: str) -> bool:
        """Whether the input names the plugin to be on here."""
        return any(entry.name == name for entry in self.enabled)

    def disable(self, name: str, path: str = "") -> None:
        """Turn the default plugin off, if it is not off already."""
        if not self.disables(name):
            self.disabled.append(Entry(name, path=path))

    def bring_back(self, entry: Entry) -> bool:
        """Have a default plugin that is off; whether it was."""
        if not self.disables(entry.name) or self.enables(entry.name):
            return False
        self.disabled = [each for each in self.disabled if each.name != entry.name]
        if self.disables(entry.name):
            self.enabled.append(entry)
        return True


@dataclass(slots=True)
class Args:
    """The arguments that the input gives a plugin, and where."""

    fields: dict[str, Any]
    path: str


@dataclass(slots=True)
class ProfileDraft:
    """One profile."""

    name: str | None = None
    path: str = ""
    """Where the input has it; empty when the input is nothing else."""
    name_path: str = ""
    is_in_document: bool = False
    """Whether the input has the profile in the words of a KubeSchedulerConfiguration."""
    plugins: dict[str, PluginChanges] = field(default_factory=dict)
    args: dict[str, Args] = field(default_factory=dict)
    percentage_of_nodes_to_score: int | None = None
    nodes: list[dict[str, Any]] = field(default_factory=list)
    """Requirements on the labels of the nodes it uses."""

    def at(self, point: str) -> PluginChanges:
        """The changes at an extension point."""
        return self.plugins.setdefault(point, PluginChanges())

    def below(self, key: str) -> str:
        """The path of a field of the profile; of the profile itself, where the input has no such field."""
        if not self.is_in_document:
            return self.path
        return f"{self.path}.{key}" if self.path else key


@dataclass(frozen=True, slots=True)
class Image:
    """The image that the input runs, and where it names it."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Unelected:
    """Where the input turns the leader election off, and the words for it, which are empty for a field."""

    path: str
    words: str = ""


@dataclass(slots=True)
class Process:
    """One scheduler process."""

    profiles: list[ProfileDraft] = field(default_factory=list)
    scheduler: dict[str, Any] = field(default_factory=dict)
    """Fields of ``spec.scheduler``, defaults included."""
    extenders: list[dict[str, Any]] = field(default_factory=list)
    extenders_path: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)
    """Fields of the rendered document that only an override can set, by JSON pointer."""
    needs_kube_scheduler: bool = False
    """Whether only kube-scheduler itself can do what is asked."""
    allowed: frozenset[str] = frozenset()
    """The codes of findings that comments in the input accept."""
    image: Image | None = None
    unelected: Unelected | None = None
    """None when its processes elect a leader, as they do unless they are told otherwise."""

    def elect(self, field: str, value: Any) -> None:
        """Say something of the leader election; None says nothing."""
        if value is not None:
            self.scheduler.setdefault("leaderElection", {})[field] = value

    def connect(self, field: str, value: Any) -> None:
        """Say something of the connection to the API server; None says nothing."""
        if value is not None:
            self.scheduler.setdefault("clientConnection", {})[field] = value

    def override(self, pointer: str, value: Any) -> None:
        """Carry a field of the document for which a profile has no field of its own."""
        self.overrides[pointer] = value
