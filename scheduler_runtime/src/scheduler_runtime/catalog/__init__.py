"""The plugins: which this build has, which upstream has, and what each minor version enables.

Data only. Nothing here imports plugin code or numpy, so that the operator and a linter start in a blink.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scheduler_runtime.catalog import suggestions as spelling
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
from scheduler_runtime.catalog.kubernetes_version import Version
from scheduler_runtime.catalog.removed_plugins import REFUSED_ANYWHERE, REMOVED_PLUGINS
from scheduler_runtime.catalog.target import KNOWN_MINORS, Target, gate_problems, is_too_new, is_too_old
from scheduler_runtime.catalog.versions import DefaultSet, v1_35, v1_36, v1_37

__all__ = [
    "BASE_RULES",
    "DEFAULT_MINOR",
    "HOOK_POINTS",
    "IN_TREE_ARGS",
    "KNOWN_MINORS",
    "NEWEST_MINOR",
    "OLDEST_MINOR",
    "REFUSED_ANYWHERE",
    "REMOVED_PLUGINS",
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
    "similar_plugins",
    "with_gated_defaults",
]

BASE_RULES: tuple[Rule, ...] = (
    Rule(api_groups=("", "events.k8s.io"), resources=("events",), verbs=("create", "patch")),
    Rule(api_groups=("",), resources=("nodes", "pods"), verbs=("get", "list", "watch")),
    Rule(api_groups=("",), resources=("pods/status",), verbs=("patch",)),
    Rule(api_groups=("authentication.k8s.io",), resources=("tokenreviews",), verbs=("create",)),
    Rule(api_groups=("authorization.k8s.io",), resources=("subjectaccessreviews",), verbs=("create",)),
)
"""What every scheduler needs, whichever plugins it runs. Its Lease and its ConfigMap are namespaced and not here."""

_IN_TREE: Mapping[str, Declaration] = MappingProxyType({each.name: each for each in DECLARATIONS})
_VERSIONS: Mapping[str, DefaultSet] = MappingProxyType(
    {each.minor: each for each in (v1_35.DEFAULTS, v1_36.DEFAULTS, v1_37.DEFAULTS)}
)

OLDEST_MINOR, NEWEST_MINOR = KNOWN_MINORS[0], KNOWN_MINORS[-1]
"""The first and the last minor version of Kubernetes whose behaviour is known."""

DEFAULT_MINOR = "1.36"
"""The minor version that is meant where nobody names one and no API server is asked, as in the commands of berth."""


def in_tree() -> Mapping[str, Declaration]:
    """The plugins that this build has, by name."""
    return _IN_TREE


def find(name: str) -> Declaration | None:
    """The declaration of the plugin called ``name``, if this build has it."""
    return _IN_TREE.get(name)


def defaults(version: Version) -> DefaultSet:
    """The data of ``version``'s minor; of the nearest one that is known, when it is older or newer than all."""
    return _VERSIONS[Target(version).minor]


def exists_in(name: str, version: Version) -> bool:
    """Whether kube-scheduler of ``version`` has a plugin called ``name``, whether or not this build has it."""
    return name in defaults(version).extends


def first_version_with(name: str) -> str | None:
    """The first known minor version that has the plugin or the extension point called ``name``; None if none has."""
    return next((each.minor for each in _VERSIONS.values() if name in each.extends or name in each.points), None)


def is_upstream_plugin(name: str) -> bool:
    """Whether some known version of kube-scheduler has a plugin called ``name``."""
    return any(name in each.extends for each in _VERSIONS.values())


_NEAR = 0.8
"""How much of a name has to be the same. With less, Coscheduling would be near to GangScheduling."""


def similar_plugins(name: str) -> list[str]:
    """The plugin names that are written most like ``name``, the best first; empty when none is near."""
    names = sorted({*_IN_TREE, *(plugin for each in _VERSIONS.values() for plugin in each.extends)})
    lower = {candidate.lower(): candidate for candidate in names}
    return [lower[match] for match in spelling.nearest(name.lower(), lower, most=3, alike=_NEAR)]
