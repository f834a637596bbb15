"""What a class says about itself, before anything is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from scheduler_runtime.api import Plugin, PluginArgs, declaration_of, flaws_of
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework import RegistrationError
from scheduler_runtime.framework.registration import check_class
from scheduler_runtime.testing.formatting import brief


def flaws(kind: type[Plugin]) -> Iterator[str]:
    """What it declares is of the right type and spelt as it is read, its events are of pods, nodes and what it watches,
    each hook can be called with what it is given, those that run in the background are coroutines, they alone, no
    method is a misspelt hook, and there is a hook."""
    yield from flaws_of(kind)


def hooks(kind: type[Plugin]) -> Iterator[str]:
    """The hooks are the declared ones."""
    declaration = declaration_of(kind)
    try:
        check_class(kind, declaration)
    except RegistrationError as error:
        yield f"{str(error).removeprefix(f'plugin {declaration.name}: ')}; let class and declaration agree"


def model(kind: type[Plugin]) -> Iterator[str]:
    """The model of the arguments is strict: camelCase on the wire, unknown fields refused, never changed."""
    args = declaration_of(kind).args
    if args is None:
        return
    for option, wanted in (("extra", "forbid"), ("frozen", True)):
        if args.model_config.get(option) != wanted:
            yield f"{args.__name__}.model_config has not {option}={wanted!r}; leave PluginArgs' own configuration"
    for name, field in args.model_fields.items():
        written = field.alias or name
        if written != to_camel(written):
            yield f"{args.__name__}.{name} is written {written}; arguments are camelCase, {to_camel(name)}"


def round_trip(args: PluginArgs, target: Target) -> Iterator[str]:
    """Arguments that are written and read again are the same."""
    kind = type(args)
    try:
        written = args.model_dump(mode="json", by_alias=True, exclude_none=True)
        again = kind.model_validate_json(json.dumps(written), context={"target": target})
    except (ValidationError, ValueError) as error:
        yield f"its args cannot be read again as they are written: {error}"
        return
    if again != args:
        yield f"its args change when they are written and read again: {brief(args)} became {brief(again)}"
