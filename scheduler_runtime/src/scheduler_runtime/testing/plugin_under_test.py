"""The plugin that is checked: its class, and how to make an object of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime.api import Plugin, PluginArgs, declaration_of, hooks_of
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework import Framework
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.testing.builders import effective_profile, offline
from scheduler_runtime.testing.driver import Asked
from scheduler_runtime.testing.objects import Objects


@dataclass(frozen=True, slots=True)
class PluginUnderTest:
    """A plugin to be checked: its class, and what an object of it is made of."""

    kind: type[Plugin]
    args: PluginArgs | None
    make: Callable[[], Framework] = field(repr=False)

    @classmethod
    def of(
        cls,
        kind: type[Plugin],
        args: Mapping[str, Any] | PluginArgs | None,
        objects: Objects,
        version: str,
        seed: int,
    ) -> PluginUnderTest:
        """Raises ValueError when these are not arguments of the plugin."""
        profile = effective_profile(_profile(kind, args), [kind], version)
        classes = {**IN_TREE, declaration_of(kind).name: kind}
        target = Target.parse(version)

        def make() -> Framework:
            return Framework(profile, offline(objects), target.version, seed, classes)

        return cls(kind, profile.args.get(declaration_of(kind).name), make)

    @property
    def name(self) -> str:
        """What documents call the plugin."""
        return declaration_of(self.kind).name

    @property
    def hooks(self) -> frozenset[str]:
        """The hooks that it has."""
        return hooks_of(self.kind)

    def has(self, *hooks: str) -> bool:
        """Whether it has any of ``hooks``."""
        return not self.hooks.isdisjoint(hooks)

    def fresh(self) -> Asked:
        """A new object of the plugin, which has seen nothing."""
        return Asked(self.make(), self.name, self.hooks)


def _profile(kind: type[Plugin], args: Mapping[str, Any] | PluginArgs | None) -> dict[str, Any]:
    """A profile of this plugin, and of what every profile needs beside it."""
    declaration = declaration_of(kind)
    sorting = [] if "queueSort" in declaration.points else [{"name": "PrioritySort"}]
    binding = [] if declaration.name == "DefaultBinder" else [{"name": "DefaultBinder"}]
    enabled = [*sorting, {"name": declaration.name}, *binding]
    written = args.model_dump(mode="json", by_alias=True) if isinstance(args, PluginArgs) else args
    return {
        "plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}},
        "pluginConfig": [] if written is None else [{"name": declaration.name, "args": dict(written)}],
    }
