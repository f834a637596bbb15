"""Plugins that a plain document names and that are installed beside berth, as berth-scheduler would find them."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.catalog.entry_points import installed_plugins
from scheduler_runtime.config import Problem, Problems, unknown_plugin_message


@dataclass(frozen=True, slots=True)
class Installed:
    """What is installed of the plugins that a document names and nobody else knows."""

    plugins: Mapping[str, Declaration] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    """Why some cannot be used, each at the first place that names it."""
    unusable: Collection[str] = ()
    """Their names."""
    places: Mapping[str, str] = field(default_factory=dict)
    """The name of a plugin that nobody else knows, by the path of each place that names one."""
    offered: Collection[str] = ()
    """The names of all that is installed."""

    def beside(self, others: Iterable[Problem], target: Target) -> Problems:
        """What is wrong with the document: these problems, and ``others`` that know nothing of what is installed."""
        told = (self._told(problem, target) for problem in others)
        return Problems((*(problem for problem in told if problem), *self.problems))

    def _told(self, problem: Problem, target: Target) -> Problem | None:
        name = self.places.get(problem.path.removesuffix(".name"))
        if name is None or problem.message != unknown_plugin_message(name, target):
            return problem
        return (
            None
            if name in self.unusable
            else replace(problem, message=unknown_plugin_message(name, target, self.offered))
        )


def installed(document: Any, known: Container[str]) -> Installed:
    """What those plugins declare, and why others of them cannot be used.

    ``document`` is not read yet, and may have any shape.
    """
    wanted = ((path, name) for path, name in _named(document) if name not in known and not _is_of_kubernetes(name))
    named = dict(wanted)
    return _found(named) if named else Installed()


def _named(document: Any) -> Iterator[tuple[str, str]]:
    """The path of each entry that names a plugin, and that name."""
    for index, profile in enumerate(_listed(document, "profiles")):
        sets = profile.get("plugins") if isinstance(profile, dict) else None
        points = sets.items() if isinstance(sets, dict) else ()
        enabled = ((f"plugins.{point}.enabled", _listed(plugins, "enabled")) for point, plugins in points)
        for path, entries in (*enabled, ("pluginConfig", _listed(profile, "pluginConfig"))):
            for place, entry in enumerate(entries):
                if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                    yield f"profiles[{index}].{path}[{place}]", entry["name"]


def _listed(value: Any, field: str) -> Iterable[Any]:
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, list) else ()


def _is_of_kubernetes(name: str) -> bool:
    return bool(catalog.find(name)) or catalog.is_upstream_plugin(name)


def _found(named: dict[str, str]) -> Installed:
    from scheduler_runtime.api import declaration_of  # with numpy, which documents of Kubernetes' plugins do not need
    from scheduler_runtime.api.entry_points import load_plugin

    offered = installed_plugins()
    found = {name: load_plugin(name, offered[name]) for name in sorted({*named.values()} & offered.keys())}
    unusable = {name: f"plugin {name}: {why}" for name, why in found.items() if isinstance(why, str)}
    first = {name: path for path, name in reversed(named.items())}
    return Installed(
        {
            name: replace(declaration_of(kind), python_only=True)
            for name, kind in found.items()
            if not isinstance(kind, str)
        },
        tuple(Problem(first[name], why) for name, why in unusable.items()),
        unusable.keys(),
        named,
        offered.keys(),
    )
