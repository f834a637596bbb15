"""Checks of a plugin's class and of its arguments, before any object is made."""

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
    """The class is one that a scheduler starts with.

    Its attributes have the right types and names, its events are of pods, nodes and what it watches, each hook takes
    the arguments that it gets, those that run in the background are coroutines and no others, no method is a misspelt
    hook, and there is a hook.
    """
    yield from flaws_of(kind)


def hooks(kind: type[Plugin]) -> Iterator[str]:
    """The hooks of the class are those that it declares."""
    try:
        check_class(kind)
    except RegistrationError as error:
        yield f"{str(error).removeprefix(f'plugin {declaration_of(kind).name}: ')}; let class and declaration agree"


def model(kind: type[Plugin]) -> Iterator[str]:
    """The model of the arguments is strict: camelCase in documents, unknown fields refused, never changed."""
    args = declaration_of(kind).args
    if args is None:
        return
    for option, required in (("extra", "forbid"), ("frozen", True)):
        if args.model_config.get(option) != required:
            yield f"{args.__name__}.model_config has not {option}={required!r}; leave PluginArgs' own configuration"
    for name, field in args.model_fields.items():
        alias = field.alias or name
        if alias != to_camel(alias):
            yield f"{args.__name__}.{name} is written {alias}; arguments are camelCase, {to_camel(name)}"


def round_trip(args: PluginArgs, target: Target) -> Iterator[str]:
    """Arguments are the same after they are written to a document and read from it.

    The operator renders documents from arguments that it has read.
    """
    try:
        document = json.dumps(args.model_dump(mode="json", by_alias=True, exclude_none=True))
        again = type(args).model_validate_json(document, context={"target": target})
    except (ValidationError, ValueError) as error:
        yield f"its args cannot be read again as they are written: {error}"
        return
    if again != args:
        yield f"its args change when they are written and read again: {brief(args)} became {brief(again)}"
