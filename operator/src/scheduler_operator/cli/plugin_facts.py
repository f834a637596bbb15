"""Facts about each plugin, from the catalog or from an installed class, for ``berth plugins``."""

import inspect
import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

from pydantic import BaseModel

from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import SUPPORTED_MINORS, Declaration, Rule, Target, Version
from scheduler_runtime.catalog.documentation import ARGUMENTS, SUMMARIES
from scheduler_runtime.catalog.entry_points import describe_origin, installed_plugins


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFacts:
    """One plugin: its origin, and all that is known about it."""

    name: str
    summary: str = ""
    origin: str = ""
    """The installed distribution that has it; empty for a plugin of Kubernetes."""
    problem: str = ""
    """The reason why an installed plugin cannot be used."""
    points: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Its extension points in each minor version that has it."""
    default_weights: Mapping[str, int] = field(default_factory=dict)
    """The minor versions that enable it by default, with the weight it has there, 0 where none counts."""
    arguments: tuple["Argument", ...] = ()
    hooks: tuple[str, ...] = ()
    """The hooks that Berth's own scheduler calls; empty while it has no implementation."""
    rules: tuple[Mapping[str, Any], ...] = ()
    """The permissions of its scheduler beyond those of every scheduler, as rules of a role."""
    events: tuple[tuple[str, list[str]], ...] = ()
    """The changes that may help a pod that it rejected: a kind, and what happens to it."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One field of a plugin's arguments."""

    path: str
    type: str
    default: Any
    required: bool
    text: str


def every_minor() -> list[str]:
    """Return the minor versions that this release supports, the oldest first."""
    return list(SUPPORTED_MINORS)


@cache
def default_weights(minor: str) -> Mapping[str, int]:
    """Return the plugins that run by default, with their weights at score or, where they have none, 0."""
    profile = config.default_profile(Target.parse(minor))
    running = [plugin for plugins in profile.points.values() for plugin in plugins]
    return {name: max(plugin.weight for plugin in running if plugin.name == name) for name in profile.names}


def names() -> list[str]:
    """Return the plugins of every version, and then the installed ones, without loading their code."""
    # A name of Kubernetes' own wins: berth-scheduler refuses an installed plugin of such a name.
    of_kubernetes = _kubernetes_points()
    return [*of_kubernetes, *sorted(installed_plugins().keys() - of_kubernetes.keys())]


def facts_of(name: str) -> PluginFacts | None:
    """Return the facts about the plugin of this name, if there is one."""
    points, installed = _kubernetes_points().get(name), installed_plugins()
    if points is not None:
        return _kubernetes_facts(name, points)
    return _installed_facts(name, installed[name]) if name in installed else None


def every_plugin() -> list[PluginFacts]:
    """Return the facts about every plugin of every version, and then about each installed one."""
    of_kubernetes = [_kubernetes_facts(name, points) for name, points in _kubernetes_points().items()]
    return [*of_kubernetes, *(_installed_facts(name, points) for name, points in sorted(installed_plugins().items()))]


@cache
def _kubernetes_points() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the extension points of each of Kubernetes' plugins in each version."""
    points: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in sorted(catalog.in_tree())}
    for minor in every_minor():
        for name, extended in catalog.defaults(Version.parse(minor)).extends.items():
            points.setdefault(name, {})[minor] = extended
    return {name: points[name] for name in sorted(points)}


def _kubernetes_facts(name: str, points: Mapping[str, tuple[str, ...]]) -> PluginFacts:
    weights = {minor: default_weights(minor) for minor in points}
    declared, model = catalog.find(name), catalog.IN_TREE_ARGS.get(name)
    return PluginFacts(
        name=name,
        summary=SUMMARIES.get(name, ""),
        points=points,
        default_weights={minor: by_name[name] for minor, by_name in weights.items() if name in by_name},
        arguments=tuple(arguments(model, ARGUMENTS.get(name, {}))) if model else (),
        hooks=declared.hooks if declared else (),
        rules=tuple(map(rule_fields, declared.rules_for(declared.args() if declared.args else None)))
        if declared
        else (),
        events=tuple(events_of(declared)) if declared else (),
    )


def _installed_facts(name: str, points: list[EntryPoint]) -> PluginFacts:
    from scheduler_runtime.api import declaration_of  # with numpy, which Kubernetes' plugins do not need
    from scheduler_runtime.api.plugin_loading import load_plugin

    by = " and ".join(sorted(map(describe_origin, points)))
    # Whatever the plugin's code prints or warns about is no part of the answer.
    with redirect_stdout(sys.stderr), warnings.catch_warnings(action="ignore"):
        plugin = load_plugin(name, points)
        if isinstance(plugin, str):
            return PluginFacts(name=name, origin=by, problem=f"cannot be used: {plugin}")
        try:
            declared = declaration_of(plugin)
            return PluginFacts(
                name=name,
                summary=" ".join(inspect.cleandoc(plugin.__doc__ or "").partition("\n\n")[0].split()),
                origin=by,
                arguments=tuple(arguments(declared.args, {})) if declared.args else (),
                hooks=declared.hooks,
                rules=tuple(map(rule_fields, declared.rules_for())),
                events=tuple(events_of(declared)),
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a mistake in the plugin's own class
            why = f"what {by} declares cannot be shown: {type(error).__name__}: {error}"
            return PluginFacts(name=name, origin=by, problem=why)


def arguments(model: type[BaseModel], texts: Mapping[str, str]) -> Iterator[Argument]:
    """Yield every field below ``model``, outer ones first."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    return _fields((_resolve(schema, definitions),), definitions, "", texts)


def _fields(
    nodes: tuple[Mapping[str, Any], ...], definitions: Mapping[str, Any], prefix: str, texts: Mapping[str, str]
) -> Iterator[Argument]:
    """Yield the fields of the last of ``nodes``, and those below each, unless it is one of ``nodes``: a cycle."""
    for name, field_schema in nodes[-1].get("properties", {}).items():
        inner, path = _resolve(field_schema, definitions), f"{prefix}{name}"
        required, text = name in nodes[-1].get("required", ()), texts.get(path) or field_schema.get("description", "")
        default = field_schema.get("default")
        if isinstance(default, float) and not math.isfinite(default):
            default = str(default)  # JSON has no infinity
        yield Argument(path, _type_name(inner, definitions), default, required, text)
        is_list = inner.get("type") == "array"
        below = _resolve(inner.get("items", {}), definitions) if is_list else inner
        if not any(below is node for node in nodes):
            yield from _fields((*nodes, below), definitions, f"{path}[]." if is_list else f"{path}.", texts)


def _resolve(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema without references, and without the null that stands for an absent field."""
    match [option for option in node.get("anyOf", ()) if option != {"type": "null"}]:
        case [only]:
            node = only
    return definitions[node["$ref"].rpartition("/")[2]] if "$ref" in node else node


_PLURALS = {"integer": "integers", "string": "strings", "object": "objects"}


def _type_name(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    match node:
        case {"enum": values}:
            return " | ".join(map(str, values))
        case {"type": "array", "items": items}:
            name = _type_name(_resolve(items, definitions), definitions)
            return f"list of {_PLURALS.get(name, name)}"
        case {"anyOf": options}:
            return " or ".join(_type_name(_resolve(option, definitions), definitions) for option in options)
        case {"type": "integer"}:
            return "integer"
        case {"type": "string"}:
            return "string"
        case {"type": "boolean"}:
            return "boolean"
        case {"type": "object"}:
            return "object"
    return str(node.get("type", "anything"))


def events_of(declaration: Declaration) -> Iterator[tuple[str, list[str]]]:
    """Yield the changes that may help a pod that the plugin rejected: a kind, and what happens to it."""
    for event in declaration.events:
        yield event.resource, [action.word for action in event.actions.parts()]


def rule_fields(rule: Rule) -> dict[str, Any]:
    """Return a permission as a rule of a role, without empty fields."""
    fields = {
        "apiGroups": list(rule.api_groups),
        "resources": list(rule.resources),
        "verbs": list(rule.verbs),
        "resourceNames": list(rule.resource_names),
        "namespace": rule.namespace,
    }
    return {name: value for name, value in fields.items() if value}
