"""Plugins that exist: in a version of Kubernetes, in an engine, or declared by their authors.

An engine is the program that runs by a document: upstream's kube-scheduler, or Berth's own scheduler, which has fewer
plugins. A plugin that does not come with Kubernetes is one of the ``others`` or ``declared`` ones: its declaration
comes from a PluginConfig or an installed package.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, DefaultSet, Target
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest_name

Engine = Literal["Python", "KubeScheduler", "UpstreamImage"]
"""``UpstreamImage`` is a kube-scheduler as upstream ships it; ``KubeScheduler`` may be one with more plugins."""

DECLARE_IT = "it is in an image of yours, give a PluginConfig that declares it"
"""The remedy for a plugin that only its author knows, for those who have PluginConfigs."""


def points_by_plugin(defaults: DefaultSet, others: Mapping[str, Declaration]) -> dict[str, Sequence[str]]:
    """Return the extension points of every plugin there is.

    Of plugins with one name those of the version come first, then the ``others``, then those that only this build has.
    """
    declared = {**_ONLY_IN_THIS_BUILD, **others}
    points = {name: tuple(declaration.points) for name, declaration in declared.items()}
    return {**points, **defaults.extends}


_ONLY_IN_THIS_BUILD: Mapping[str, Declaration] = MappingProxyType(
    {name: declaration for name, declaration in catalog.in_tree().items() if not catalog.is_upstream_plugin(name)}
)


def missing_plugins(engine: Engine, plugins: Iterable[str], declared: Container[str] = ()) -> tuple[str, ...]:
    """Return those of ``plugins`` that ``engine`` does not have, once each and in their order.

    A kube-scheduler has all of Kubernetes. The ``declared`` plugins do not come with the engine; whether somebody
    brings them to it is not checked here.
    """
    if engine != "Python":
        return ()
    own = catalog.in_tree()
    return tuple(name for name in dict.fromkeys(plugins) if name not in own and name not in declared)


def python_only_plugins(engine: Engine, plugins: Iterable[str], declared: Mapping[str, Declaration]) -> tuple[str, ...]:
    """Return those of ``plugins`` with which ``engine`` does not even start, once each and in their order.

    They are classes in Python, when a kube-scheduler is to run them.
    """
    if engine == "Python":
        return ()
    return tuple(name for name in dict.fromkeys(plugins) if name in declared and declared[name].python_only)


def unknown_plugin_message(name: str, target: Target | None = None, others: Iterable[str] = ()) -> str:
    """Return the sentence about a plugin that does not exist, with the names that were perhaps meant.

    With a ``target``, a plugin that another version has is reported as such. ``others`` are names of plugins that do
    not come with Kubernetes.
    """
    if name in catalog.REMOVED_PLUGINS:
        return f"{name} was removed from Kubernetes; {catalog.REMOVED_PLUGINS[name]}"
    if target is not None and catalog.is_upstream_plugin(name):
        return f"{target} has no plugin {name}{since(name)}"
    if not name:
        return "is required"
    similar = did_you_mean([*nearest_name(name, others), *catalog.similar_plugins(name)])
    otherwise = f"{similar} If" if similar else "; if"
    return f"there is no plugin {name!r}{otherwise} {DECLARE_IT}"


def since(name: str) -> str:
    """Return the end of a sentence: the version in which a plugin or a point appeared; empty if none has it."""
    first = catalog.first_version_with(name)
    return f"; it appeared in Kubernetes {first}" if first else ""
