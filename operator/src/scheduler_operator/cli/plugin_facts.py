"""What the catalogue, or an installed class, says of each plugin, put together for people."""

import inspect
import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

from pydantic import BaseModel

from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import KNOWN_MINORS, Declaration, Rule, Target, Version
from scheduler_runtime.catalog.documentation import ARGUMENTS, SUMMARIES
from scheduler_runtime.catalog.entry_points import describe_origin, installed_plugins


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFacts:
    """One plugin: where it is, and what is known of it."""

    name: str
    summary: str = ""
    origin: str = ""
    """Which installed distribution offers it; empty for a plugin of Kubernetes."""
    problem: str = ""
    """Why one that is offered cannot be used."""
    points: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Its extension points in each minor version that has it."""
    default_weights: Mapping[str, int] = field(default_factory=dict)
    """The minor versions that enable it by default, with the weight it has there, 0 where none counts."""
    arguments: tuple["Argument", ...] = ()
    hooks: tuple[str, ...] = ()
    """What berth's own scheduler can call; empty while it has no implementation."""
    rules: tuple[Mapping[str, Any], ...] = ()
    """What its scheduler may do beside what every scheduler may, in the words of a role."""
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
    """The minor versions that this release follows, the oldest first."""
    return list(KNOWN_MINORS)


@cache
def default_weights(minor: str) -> Mapping[str, int]:
    """The plugins that run by default, with their weights at score or, where they have none, 0."""
    found = config.default_profile(Target.parse(minor))
    running = [plugin for plugins in found.points.values() for plugin in plugins]
    return {name: max(plugin.weight for plugin in running if plugin.name == name) for name in found.names}


def names() -> list[str]:
    """The plugins of every version, and then those that are installed, without a look at their code."""
    of_kubernetes = _points_of_kubernetes()
    return [*of_kubernetes, *sorted(installed_plugins().keys() - of_kubernetes.keys())]


def facts_of(name: str) -> PluginFacts | None:
    """What is known of the plugin of this name, if there is one."""
    points, offered = _points_of_kubernetes().get(name), installed_plugins()
    if points is not None:
        return _of_kubernetes(name, points)
    return _of_distribution(name, offered[name]) if name in offered else None


def every_plugin() -> list[PluginFacts]:
    """Every plugin of every version, and then each that is installed."""
    of_kubernetes = [_of_kubernetes(name, points) for name, points in _points_of_kubernetes().items()]
    return [*of_kubernetes, *(_of_distribution(name, points) for name, points in sorted(installed_plugins().items()))]


@cache
def _points_of_kubernetes() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """The extension points of each plugin in each version, by its name."""
    points: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in sorted(catalog.in_tree())}
    for minor in every_minor():
        for name, extended in catalog.defaults(Version.parse(minor)).extends.items():
            points.setdefault(name, {})[minor] = extended
    return {name: points[name] for name in sorted(points)}


def _of_kubernetes(name: str, points: Mapping[str, tuple[str, ...]]) -> PluginFacts:
    weights = {minor: default_weights(minor) for minor in points}
    declared, model = catalog.find(name), catalog.IN_TREE_ARGS.get(name)
    return PluginFacts(
        name=name,
        summary=SUMMARIES.get(name, ""),
        points=points,
        default_weights={minor: found[name] for minor, found in weights.items() if name in found},
        arguments=tuple(arguments(model, ARGUMENTS.get(name, {}))) if model else (),
        hooks=declared.hooks if declared else (),
        rules=tuple(map(rule_fields, declared.rules_for(declared.args() if declared.args else None)))
        if declared
        else (),
        events=tuple(events_of(declared)) if declared else (),
    )


def _of_distribution(name: str, points: list[EntryPoint]) -> PluginFacts:
    from scheduler_runtime.api import declaration_of  # with numpy, which Kubernetes' plugins do not need
    from scheduler_runtime.api.entry_points import load_plugin

    by = " and ".join(sorted(map(describe_origin, points)))
    with _out_of_the_answer():
        found = load_plugin(name, points)
        if isinstance(found, str):
            return PluginFacts(name=name, origin=by, problem=f"cannot be used: {found}")
        try:
            declared = declaration_of(found)
            return PluginFacts(
                name=name,
                summary=" ".join(inspect.cleandoc(found.__doc__ or "").partition("\n\n")[0].split()),
                origin=by,
                arguments=tuple(arguments(declared.args, {})) if declared.args else (),
                hooks=declared.hooks,
                rules=tuple(map(rule_fields, declared.rules_for())),
                events=tuple(events_of(declared)),
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a class of theirs says is theirs to mend
            why = f"what {by} declares cannot be shown: {type(error).__name__}: {error}"
            return PluginFacts(name=name, origin=by, problem=why)


@contextmanager
def _out_of_the_answer() -> Iterator[None]:
    """Whatever somebody's code prints is no part of what berth answers."""
    with redirect_stdout(sys.stderr), warnings.catch_warnings(action="ignore"):
        yield


def arguments(model: type[BaseModel], texts: Mapping[str, str]) -> Iterator[Argument]:
    """Every field below ``model``, outer ones first."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    return _fields((_resolved(schema, definitions),), definitions, "", texts)


def _fields(
    nodes: tuple[Mapping[str, Any], ...], definitions: Mapping[str, Any], prefix: str, texts: Mapping[str, str]
) -> Iterator[Argument]:
    """The fields of the last of these ``nodes``, and what is below each, unless that is one of them again."""
    for name, written in nodes[-1].get("properties", {}).items():
        inner, path = _resolved(written, definitions), f"{prefix}{name}"
        required, text = name in nodes[-1].get("required", ()), texts.get(path) or written.get("description", "")
        yield Argument(path, _type(inner, definitions), _writable(written.get("default")), required, text)
        is_list = inner.get("type") == "array"
        below = _resolved(inner.get("items", {}), definitions) if is_list else inner
        if not any(below is node for node in nodes):
            yield from _fields((*nodes, below), definitions, f"{path}[]." if is_list else f"{path}.", texts)


def _writable(default: Any) -> Any:
    """A default as JSON can say it."""
    return str(default) if isinstance(default, float) and not math.isfinite(default) else default


def _resolved(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without references, and without the null that stands for a field left out."""
    match [each for each in node.get("anyOf", ()) if each != {"type": "null"}]:
        case [only]:
            node = only
    return definitions[node["$ref"].rpartition("/")[2]] if "$ref" in node else node


def _type(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    match node:
        case {"enum": values}:
            return " | ".join(map(str, values))
        case {"type": "array", "items": items}:
            return f"list of {_plural(_type(_resolved(items, definitions), definitions))}"
        case {"anyOf": options}:
            return " or ".join(_type(_resolved(option, definitions), definitions) for option in options)
        case {"type": "integer"}:
            return "whole number"
        case {"type": "string"}:
            return "text"
        case {"type": "boolean"}:
            return "true or false"
        case {"type": "object"}:
            return "fields"
    return str(node.get("type", "anything"))


def _plural(name: str) -> str:
    return {"whole number": "whole numbers", "text": "texts"}.get(name, name)


def events_of(declaration: Declaration) -> Iterator[tuple[str, list[str]]]:
    """The changes that may help a pod that the plugin rejected: a kind, and what happens to it."""
    for event in declaration.events:
        yield event.resource, [action.word for action in event.actions.parts()]


def rule_fields(rule: Rule) -> dict[str, Any]:
    """A permission in the words of a role, without what it leaves out."""
    fields = {
        "apiGroups": list(rule.api_groups),
        "resources": list(rule.resources),
        "verbs": list(rule.verbs),
        "resourceNames": list(rule.resource_names),
        "namespace": rule.namespace,
    }
    return {name: value for name, value in fields.items() if value}
