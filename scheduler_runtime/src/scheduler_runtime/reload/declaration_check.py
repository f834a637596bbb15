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
from scheduler_runtime.catalog.openapi_schema import structural
from scheduler_runtime.config.berth_options import DeclaredRule, Declares

_ADVICE = "berth plugins --declare FILE prints what to declare"
_HOOKS = {"sort_key": "queueSort"}
"""Hooks whose extension point is not called the same, in other letters."""
_TOLD_TO_PEOPLE = frozenset({"title", "description", "default"})


def differences(plugin: type[Plugin], declared: Declares) -> list[str]:
    """A sentence for each way in which the code is not what was ``declared``, and what to do after the last."""
    own = declaration_of(plugin)
    try:
        rules = own.rules_for()
    except Exception as error:  # noqa: BLE001  it is code of theirs
        return [f"rules: {type(error).__name__}: {error}"]
    found = [
        *_different("hooks", map(_hook, own.hooks), declared.hooks),
        *_different("rules", _own_rights(rules), _declared_rights(declared.rules)),
        *_different("events", *_events(own, declared)),
    ]
    if _schema(structural(own.args) if own.args else None) != _schema(declared.args_schema):
        found.append("argsSchema: its code takes other arguments than are declared")
    return [*found[:-1], f"{found[-1]}; {_ADVICE}"] if found else []


def _different(part: str, in_code: Iterable[str], said: Iterable[str]) -> Iterator[str]:
    own, declared = frozenset(in_code), frozenset(said)
    more, less = sorted(own - declared), sorted(declared - own)
    found = [f"its code has {', '.join(more)}, which is not declared"] if more else []
    found += [f"{', '.join(less)} is declared, but its code has it not"] if less else []
    if found:
        yield f"{part}: {', and '.join(found)}"


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


def _events(own: Declaration, declared: Declares) -> tuple[list[str], list[str]]:
    """What the code hears of and the declaration does not, and the reverse, in the fewest words."""
    in_code, said = dict[str, Action](), dict[str, Action]()
    for event in own.events:
        in_code[event.resource] = in_code.get(event.resource, Action(0)) | event.actions
    for told in declared.events:
        actions = (Action.__members__.get(to_snake(name).upper(), Action(0)) for name in told.actions)
        said[told.resource] = reduce(or_, actions, said.get(told.resource, Action(0)))
    return _more(in_code, said), _more(said, in_code)


def _more(these: Mapping[str, Action], others: Mapping[str, Action]) -> list[str]:
    return [
        f"{resource} {action.word}"
        for resource, actions in these.items()
        for action in actions.parts()
        if action not in others.get(resource, Action(0))
    ]


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
