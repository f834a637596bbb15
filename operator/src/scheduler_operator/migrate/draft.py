"""Drafts of a scheduler process and its profiles, in the words of v1: the result of reading an input of any kind.

input ──► ProcessDraft ──► without plugins that v1 does not have ──► shortest form ──► objects
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime import catalog
from scheduler_runtime.catalog import NEWEST_MINOR, SUPPORTED_MINORS, Target, Version

TARGETS = tuple(map(Target.parse, SUPPORTED_MINORS))
"""The kube-schedulers whose behaviour is known, the oldest first."""
POINTS = (*catalog.defaults(Version.parse(NEWEST_MINOR)).points, "multiPoint")
"""The extension points in the order in which a profile shows them."""

_UPSTREAM_REGISTRIES = (
    "",  # images that were loaded into a node
    "registry.k8s.io/",
    "k8s.gcr.io/",
    "gcr.io/google_containers/",
    "gcr.io/google-containers/",
    "gcr.io/k8s-artifacts-prod/",
    "asia.gcr.io/k8s-artifacts-prod/",
    "eu.gcr.io/k8s-artifacts-prod/",
    "us.gcr.io/k8s-artifacts-prod/",
)
"""The places where Kubernetes publishes its images, and those where it published them earlier."""
_UPSTREAM_NAMES = re.compile(r"(?:kube-scheduler|hyperkube)(?:-(?:amd64|arm|arm64|ppc64le|s390x))?")


@dataclass(frozen=True, slots=True)
class PluginDraft:
    """A plugin that the input enables or disables, and the place where it does so."""

    name: str
    weight: int | None = None
    path: str = ""


@dataclass(slots=True)
class PluginChanges:
    """The changes of an input to the default plugins of one extension point."""

    enabled: list[PluginDraft] = field(default_factory=list)
    disabled: list[PluginDraft] = field(default_factory=list)

    def disables(self, name: str) -> bool:
        """Return True if the default plugin called ``name`` is off here, by name or by ``*``."""
        return any(entry.name in (name, "*") for entry in self.disabled)

    def enables(self, name: str) -> bool:
        """Return True if the input enables the plugin here by name."""
        return any(entry.name == name for entry in self.enabled)

    def disable(self, name: str, path: str = "") -> None:
        """Turn the default plugin off, unless it is off already."""
        if not self.disables(name):
            self.disabled.append(PluginDraft(name, path=path))

    def enable_again(self, entry: PluginDraft) -> bool:
        """Turn a default plugin on that is off here. Return True if it was off."""
        if not self.disables(entry.name) or self.enables(entry.name):
            return False
        self.disabled = [disabled for disabled in self.disabled if disabled.name != entry.name]
        # Without its own entry a plugin is on by default, unless a ``*`` disables it still.
        if self.disables(entry.name):
            self.enabled.append(entry)
        return True

    def as_field(self) -> dict[str, Any]:
        """Return the changes as a profile writes them under the name of the extension point."""
        value: dict[str, Any] = {}
        if self.disabled:
            value["disabled"] = [{"name": entry.name} for entry in self.disabled]
        if self.enabled:
            value["enabled"] = [
                {"name": entry.name} if entry.weight is None else {"name": entry.name, "weight": entry.weight}
                for entry in self.enabled
            ]
        return value


@dataclass(slots=True)
class ArgsDraft:
    """The arguments of a plugin, and their place in the input."""

    fields: dict[str, Any]
    path: str


@dataclass(slots=True)
class ProfileDraft:
    """One profile."""

    name: str | None = None
    path: str = ""
    """The place in the input; empty when the input is nothing but this profile."""
    name_path: str = ""
    is_in_document: bool = False
    """True if the input has the profile in the words of a KubeSchedulerConfiguration."""
    plugins: dict[str, PluginChanges] = field(default_factory=dict)
    args: dict[str, ArgsDraft] = field(default_factory=dict)
    percentage_of_nodes_to_score: int | None = None
    nodes: list[dict[str, Any]] = field(default_factory=list)
    """Requirements on the labels of the nodes it uses."""

    def at(self, point: str) -> PluginChanges:
        """Return the changes at an extension point."""
        return self.plugins.setdefault(point, PluginChanges())

    def path_of(self, key: str) -> str:
        """Return the path of a field of the profile; that of the profile itself where the input has no such field."""
        if not self.is_in_document:
            return self.path
        return f"{self.path}.{key}" if self.path else key

    def plugins_field(self) -> dict[str, Any]:
        """Return ``plugins`` as a profile writes it."""
        return {point: value for point, changes in self.plugins.items() if (value := changes.as_field())}

    def plugin_config_field(self) -> list[dict[str, Any]]:
        """Return ``pluginConfig`` as a profile writes it."""
        return [{"name": name, "args": args.fields} for name, args in self.args.items() if args.fields]


@dataclass(frozen=True, slots=True)
class SchedulerImage:
    """The image that the input runs, and the place where the input names it."""

    name: str
    path: str = ""

    @property
    def base_name(self) -> str:
        """The name without registry and folders, with tag and digest."""
        return self.name.rpartition("/")[2]

    @property
    def is_upstream(self) -> bool:
        """True if Kubernetes itself published it: other images are called kube-scheduler too, and have more plugins."""
        registry = self.name[: len(self.name) - len(self.base_name)]
        name = self.base_name.partition("@")[0].partition(":")[0]
        return registry in _UPSTREAM_REGISTRIES and _UPSTREAM_NAMES.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class ElectionOff:
    """The place where the input turns leader election off, and the words that do so, which are empty for a field."""

    path: str
    words: str = ""


@dataclass(slots=True)
class ProcessDraft:
    """One scheduler process."""

    profiles: list[ProfileDraft] = field(default_factory=list)
    scheduler: dict[str, Any] = field(default_factory=dict)
    """Fields of ``spec.scheduler``, those with default values included."""
    extenders: list[dict[str, Any]] = field(default_factory=list)
    extenders_path: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)
    """Fields of the rendered document that only an override can set, by JSON pointer."""
    needs_kube_scheduler: bool = False
    """True if only kube-scheduler itself can do what the input asks for."""
    allowed: frozenset[str] = frozenset()
    """The codes of findings that comments in the input accept."""
    image: SchedulerImage | None = None
    election_off: ElectionOff | None = None
    """None when the process elects a leader, which is the default."""

    def set_leader_election(self, field: str, value: Any) -> None:
        """Set a field of the leader election; None leaves the field alone."""
        if value is not None:
            self.scheduler.setdefault("leaderElection", {})[field] = value

    def set_connection(self, field: str, value: Any) -> None:
        """Set a field of the connection to the API server; None leaves the field alone."""
        if value is not None:
            self.scheduler.setdefault("clientConnection", {})[field] = value

    def override(self, pointer: str, value: Any) -> None:
        """Set a field of the document for which a profile has no field of its own."""
        self.overrides[pointer] = value
