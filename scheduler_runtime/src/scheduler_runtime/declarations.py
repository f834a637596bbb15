"""Whether the code of a plugin is what was declared about it without its code.

Permissions were granted, and arguments were checked, for what was declared: code that is something else is not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any

from pydantic.alias_generators import to_camel, to_snake

from scheduler_runtime.api import Plugin, declaration_of
from scheduler_runtime.catalog import Action, Declaration, Rule
from scheduler_runtime.catalog.structural import structural
from scheduler_runtime.extras import DeclaredEvent, DeclaredRule, Declares

_ADVICE = "berth plugins --declare FILE prints what to declare"
_HOOKS = {"sort_key": "queueSort"}
"""Hooks whose extension point is not called the same, in other letters."""
_TOLD_TO_PEOPLE = frozenset({"title", "description", "default"})


def differences(plugin: type[Plugin], declared: Declares) -> Iterator[str]:
    """A sentence for each way in which the code is not what was ``declared``."""
    own = declaration_of(plugin)
    parts: tuple[tuple[str, frozenset[str], frozenset[str]], ...] = (
        ("hooks", frozenset(map(_hook, own.hooks)), frozenset(declared.hooks)),
        ("rules", frozenset(_own_rights(own.rules_for())), frozenset(_declared_rights(declared.rules))),
        ("events", frozenset(_own_events(own)), frozenset(_declared_events(declared.events))),
    )
    for part, in_code, said in parts:
        if in_code != said:
            yield f"{part}: {_difference(in_code, said)}; {_ADVICE}"
    if _schema(structural(own.args) if own.args else None) != _schema(declared.args_schema):
        yield f"argsSchema: its code takes other arguments than are declared; {_ADVICE}"


def _difference(in_code: frozenset[str], said: frozenset[str]) -> str:
    more, less = sorted(in_code - said), sorted(said - in_code)
    found = [f"its code has {', '.join(more)}, which is not declared"] if more else []
    return ", and ".join(found + ([f"{', '.join(less)} is declared, but its code has it not"] if less else []))


def _hook(hook: str) -> str:
    return _HOOKS.get(hook, to_camel(hook))


def _own_rights(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        yield from _rights(rule.api_groups, rule.resources, rule.verbs, rule.resource_names, rule.namespace)


def _declared_rights(rules: Iterable[DeclaredRule]) -> Iterator[str]:
    for rule in rules:
        yield from _rights(rule.api_groups, rule.resources, rule.verbs, rule.resource_names, rule.namespace)


def _rights(
    groups: Iterable[str], resources: Iterable[str], verbs: Iterable[str], names: Iterable[str], namespace: str
) -> Iterator[str]:
    """Each right by itself, so that it does not matter how rules were put together."""
    which = "".join(f" {name}" for name in sorted(names))
    where = f" in {namespace}" if namespace else ""
    for group in groups:
        for resource in resources:
            full = f"{resource}.{group}" if group else resource
            yield from (f"{verb} {full}{which}{where}" for verb in verbs)


def _own_events(declaration: Declaration) -> Iterator[str]:
    for event in declaration.events:
        yield from _event(event.resource, event.actions)


def _declared_events(events: Iterable[DeclaredEvent]) -> Iterator[str]:
    for event in events:
        known = (Action.__members__.get(to_snake(name).upper(), Action(0)) for name in event.actions)
        yield from _event(event.resource, reduce(or_, known, Action(0)))


def _event(resource: str, actions: Action) -> Iterator[str]:
    yield from (f"{resource} {to_camel(str(action.name).lower())}" for action in actions)


def _schema(schema: Mapping[str, Any] | None) -> Any:
    """What a schema allows, without what it tells people."""
    return _without_words(schema) if schema else None


def _without_words(value: Any, *, are_names: bool = False) -> Any:
    match value:
        case Mapping():
            kept = ((key, inner) for key, inner in value.items() if are_names or key not in _TOLD_TO_PEOPLE)
            return {key: _without_words(inner, are_names=key == "properties" and not are_names) for key, inner in kept}
        case list() | tuple():
            return [_without_words(each) for each in value]
    return value
