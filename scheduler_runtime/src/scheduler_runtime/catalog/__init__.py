"""The plugins as data: those of this build, those of upstream, and those that each minor version enables.

Nothing here imports plugin code or numpy, so that the operator and ``berth lint`` start in a blink. A module for each
kind of data: ``in_tree`` has the declarations of our plugins, ``args`` the models of their arguments, ``documentation``
the sentences about both, ``versions`` upstream's defaults by version, ``permissions`` those of a scheduler beyond what
its plugins declare, ``target`` the version and feature gates that a document is for. ``declaration`` has the words in
which a plugin is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scheduler_runtime.catalog import suggestions
from scheduler_runtime.catalog.args import IN_TREE_ARGS, with_gated_defaults
from scheduler_runtime.catalog.declaration import (
    HOOK_POINTS,
    Action,
    ClusterEvent,
    Declaration,
    PluginArgs,
    Rule,
    Watch,
)
from scheduler_runtime.catalog.in_tree import DECLARATIONS
from scheduler_runtime.catalog.target import (
    NEWEST_MINOR,
    OLDEST_MINOR,
    SUPPORTED_MINORS,
    SUPPORTED_RANGE,
    Target,
    Version,
    gate_problems,
    is_too_new,
    is_too_old,
    newer_version_remark,
)
from scheduler_runtime.catalog.versions import DEFAULT_SETS, REFUSED_ANYWHERE, REMOVED_PLUGINS, DefaultSet

__all__ = [
    "DEFAULT_MINOR",
    "HOOK_POINTS",
    "IN_TREE_ARGS",
    "NEWEST_MINOR",
    "OLDEST_MINOR",
    "REFUSED_ANYWHERE",
    "REMOVED_PLUGINS",
    "SUPPORTED_MINORS",
    "SUPPORTED_RANGE",
    "Action",
    "ClusterEvent",
    "Declaration",
    "DefaultSet",
    "PluginArgs",
    "Rule",
    "Target",
    "Version",
    "Watch",
    "defaults",
    "exists_in",
    "find",
    "first_version_with",
    "gate_problems",
    "in_tree",
    "is_too_new",
    "is_too_old",
    "is_upstream_plugin",
    "newer_version_remark",
    "similar_plugins",
    "with_gated_defaults",
]

_IN_TREE: Mapping[str, Declaration] = MappingProxyType({declaration.name: declaration for declaration in DECLARATIONS})

DEFAULT_MINOR = "1.36"
"""The minor version that is meant where nobody names one and no API server is asked, as in the commands of berth."""

_NEAR = 0.8
"""The part of a name that has to be the same. With less, Coscheduling would be near to GangScheduling."""


def in_tree() -> Mapping[str, Declaration]:
    """Return the plugins that this build has, by name."""
    return _IN_TREE


def find(name: str) -> Declaration | None:
    """Return the declaration of the plugin called ``name``, if this build has it."""
    return _IN_TREE.get(name)


def defaults(version: Version) -> DefaultSet:
    """Return the data of ``version``'s minor; of the nearest known one when it is older or newer than all."""
    return DEFAULT_SETS[Target(version).minor]


def exists_in(name: str, version: Version) -> bool:
    """Return True if kube-scheduler of ``version`` has a plugin called ``name``. This build need not have it."""
    return name in defaults(version).extends


def first_version_with(name: str) -> str | None:
    """Return the first known minor version with a plugin or an extension point called ``name``; None if none has it."""
    versions = DEFAULT_SETS.values()
    return next((version.minor for version in versions if name in version.extends or name in version.points), None)


def is_upstream_plugin(name: str) -> bool:
    """Return True if some known version of kube-scheduler has a plugin called ``name``."""
    return any(name in version.extends for version in DEFAULT_SETS.values())


def similar_plugins(name: str) -> list[str]:
    """Return up to three plugin names that are spelled most like ``name``, the best first; empty when none is near."""
    names = sorted({*_IN_TREE, *(plugin for version in DEFAULT_SETS.values() for plugin in version.extends)})
    by_lower_case = {candidate.lower(): candidate for candidate in names}
    matches = suggestions.nearest(name.lower(), by_lower_case, most=3, alike=_NEAR)
    return [by_lower_case[match] for match in matches]
