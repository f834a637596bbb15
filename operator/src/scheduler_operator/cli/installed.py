"""Installed plugins that a plain document names, found beside berth as berth-scheduler would find them."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.catalog.entry_points import installed_plugins
from scheduler_runtime.config import Problem, Problems, unknown_plugin_message


@dataclass(frozen=True, slots=True)
class InstalledPlugins:
    """The installed plugins among those that a document names and nobody else knows."""

    plugins: Mapping[str, Declaration] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    """Reasons why some cannot be used, each at the first path that names the plugin."""
    unusable: Collection[str] = ()
    """The names of these."""
    names_by_path: Mapping[str, str] = field(default_factory=dict)
    """The plugins that nobody else knows, by each path that names one."""
    available: Collection[str] = ()
    """The names of all installed plugins."""

    def add_problems(self, others: Iterable[Problem], target: Target) -> Problems:
        """Return our problems and ``others``, which were found without knowledge of what is installed."""
        problems = []
        for problem in others:
            name = self.names_by_path.get(problem.path.removesuffix(".name"))
            if name is None or problem.message != unknown_plugin_message(name, target):
                problems.append(problem)
            elif name not in self.unusable:  # of those our own problem says more
                problems.append(replace(problem, message=unknown_plugin_message(name, target, self.available)))
        return Problems((*problems, *self.problems))


def find_installed(document: Any, known_plugins: Container[str]) -> InstalledPlugins:
    """Find the plugins of ``document`` that are neither ``known_plugins`` nor Kubernetes' own.

    ``document`` is not validated yet, and may have any shape.
    """
    names_by_path = {
        path: name
        for path, name in _plugin_names(document)
        if name not in known_plugins and not catalog.find(name) and not catalog.is_upstream_plugin(name)
    }
    if not names_by_path:
        return InstalledPlugins()
    from scheduler_runtime.api import declaration_of  # loads numpy, which documents of Kubernetes' plugins do not need
    from scheduler_runtime.api.plugin_loading import load_plugin

    # Only the plugins that the document names are loaded: loading runs their packages' code.
    available = installed_plugins()
    loaded = {name: load_plugin(name, available[name]) for name in sorted({*names_by_path.values()} & available.keys())}
    unusable = {name: f"plugin {name}: {reason}" for name, reason in loaded.items() if isinstance(reason, str)}
    first_path = {name: path for path, name in reversed(names_by_path.items())}
    return InstalledPlugins(
        {
            name: replace(declaration_of(plugin), python_only=True)
            for name, plugin in loaded.items()
            if not isinstance(plugin, str)
        },
        tuple(Problem(first_path[name], reason) for name, reason in unusable.items()),
        unusable.keys(),
        names_by_path,
        available.keys(),
    )


def _plugin_names(document: Any) -> Iterator[tuple[str, str]]:
    """Yield the path of each entry that names a plugin, and the name."""
    for index, profile in enumerate(_list_field(document, "profiles")):
        sets = profile.get("plugins") if isinstance(profile, dict) else None
        points = sets.items() if isinstance(sets, dict) else ()
        enabled = ((f"plugins.{point}.enabled", _list_field(plugins, "enabled")) for point, plugins in points)
        for path, entries in (*enabled, ("pluginConfig", _list_field(profile, "pluginConfig"))):
            for position, entry in enumerate(entries):
                if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                    yield f"profiles[{index}].{path}[{position}]", entry["name"]


def _list_field(value: Any, field: str) -> Iterable[Any]:
    items = value.get(field) if isinstance(value, dict) else None
    return items if isinstance(items, list) else ()
