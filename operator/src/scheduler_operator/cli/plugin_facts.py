"""What the catalogue, or an installed distribution, says of each plugin, put together for people."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint
from typing import Any

from pydantic import BaseModel

from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import KNOWN, Action, Declaration, Rule, Target, Version
from scheduler_runtime.catalog.documentation import ARGUMENTS, SUMMARIES
from scheduler_runtime.catalog.offers import offers, origin


@dataclass(frozen=True, slots=True)
class Offered:
    """What an installed distribution says of a plugin that Kubernetes does not have."""

    origin: str
    summary: str = ""
    declaration: Declaration | None = None
    problem: str = ""
    """Why it cannot be used."""


@dataclass(frozen=True)
class PluginFacts:
    """One plugin: where it is, and what is known of it."""

    name: str
    points: Mapping[str, tuple[str, ...]]
    """Its extension points in each minor version that has it."""
    offered: Offered | None = None

    @property
    def summary(self) -> str:
        return self.offered.summary if self.offered else SUMMARIES.get(self.name, "")

    @property
    def declaration(self) -> Declaration | None:
        """What an implementation for berth's own scheduler declares; None while there is none."""
        return self.offered.declaration if self.offered else catalog.find(self.name)

    @cached_property
    def default_weights(self) -> Mapping[str, int]:
        """The minor versions that enable it by default, with the weight it has there, 0 where none counts."""
        found = {minor: default_weights(minor) for minor in self.points}
        return {minor: weights[self.name] for minor, weights in found.items() if self.name in weights}

    @property
    def arguments(self) -> tuple["Argument", ...]:
        own = self.offered.declaration if self.offered else None
        model = own.args if own else catalog.IN_TREE_ARGS.get(self.name)
        return tuple(arguments(model, ARGUMENTS.get(self.name, {}))) if model else ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What its scheduler may do beside what every scheduler may, with default arguments."""
        found = self.declaration
        return found.rules_for(found.args() if found.args else None) if found else ()


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
    return list(KNOWN)


@cache
def default_weights(minor: str) -> Mapping[str, int]:
    """The plugins that run by default, with their weights at score or, where they have none, 0."""
    found = config.default_profile(Target.parse(minor))
    running = [plugin for plugins in found.points.values() for plugin in plugins]
    return {name: max(plugin.weight for plugin in running if plugin.name == name) for name in found.names}


def every_plugin() -> Mapping[str, PluginFacts]:
    """Every plugin of every version, and then each that is installed, by name."""
    of_kubernetes = plugins_of_kubernetes()
    offered = {name: points for name, points in sorted(offers().items()) if name not in of_kubernetes}
    return {**of_kubernetes, **{name: PluginFacts(name, {}, _offered(name, offered[name])) for name in offered}}


def every_name() -> Iterator[str]:
    """The names of these, without a look at their code."""
    yield from plugins_of_kubernetes()
    yield from sorted(offers())


def _offered(name: str, points: list[EntryPoint]) -> Offered:
    from scheduler_runtime.api import declaration_of  # with numpy, which Kubernetes' plugins do not need
    from scheduler_runtime.api.choosing import chosen

    found, by = chosen(name, points), " and ".join(sorted(map(origin, points)))
    if isinstance(found, str):
        return Offered(by, problem=found)
    first_paragraph = (found.__doc__ or "").strip().partition("\n\n")[0]
    return Offered(by, " ".join(first_paragraph.split()), declaration_of(found))


def plugins_of_kubernetes() -> Mapping[str, PluginFacts]:
    """Every plugin of every version, by name."""
    points: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in sorted(catalog.in_tree())}
    for minor in every_minor():
        for name, extended in catalog.defaults(Version.parse(minor)).extends.items():
            points.setdefault(name, {})[minor] = extended
    return {name: PluginFacts(name, points[name]) for name in sorted(points)}


def arguments(model: type[BaseModel], texts: Mapping[str, str]) -> Iterator[Argument]:
    """Every field below ``model``, outer ones first."""
    schema = model.model_json_schema(by_alias=True)
    return _fields(schema, schema.get("$defs", {}), "", texts)


def _fields(
    node: Mapping[str, Any], definitions: Mapping[str, Any], prefix: str, texts: Mapping[str, str]
) -> Iterator[Argument]:
    for name, written in node.get("properties", {}).items():
        inner, path = _resolved(written, definitions), f"{prefix}{name}"
        required = name in node.get("required", ())
        text = texts.get(path) or written.get("description", "")
        yield Argument(path, _type(inner, definitions), written.get("default"), required, text)
        if inner.get("type") == "array":
            yield from _fields(_resolved(inner.get("items", {}), definitions), definitions, f"{path}[].", texts)
        else:
            yield from _fields(inner, definitions, f"{path}.", texts)


def _resolved(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without references, and without the null that stands for a field left out."""
    if "anyOf" in node:
        node = next(each for each in node["anyOf"] if each != {"type": "null"})
    return definitions[node["$ref"].rpartition("/")[2]] if "$ref" in node else node


def _type(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    match node:
        case {"enum": values}:
            return " | ".join(map(str, values))
        case {"type": "array", "items": items}:
            return f"list of {_plural(_type(_resolved(items, definitions), definitions))}"
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
        yield event.resource, [_action_name(action) for action in _fewest(event.actions)]


def _fewest(actions: Action) -> list[Action]:
    """The fewest that together are ``actions``: UPDATE in the place of each kind of update."""
    found, left = list[Action](), actions
    for action in sorted(Action.__members__.values(), key=lambda each: each.value.bit_count(), reverse=True):
        if action in left:
            found.append(action)
            left &= ~action
    return sorted(found, key=lambda each: each.value & -each.value)


def _action_name(action: Action) -> str:
    return "".join(word.capitalize() for word in str(action.name).split("_"))


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
