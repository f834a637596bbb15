"""What is wrong with a document: values, not exceptions, all of them at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scheduler_runtime.catalog.suggestions import not_a_field

Step = str | int
_STEP = re.compile(r"\[(\d+)\]|[^.\[\]]+")


def path_of(steps: Iterable[Step]) -> str:
    """The path that ``steps`` make."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def steps_of(path: str) -> tuple[Step, ...]:
    """The steps of a ``path``, names and indices."""
    return tuple(int(found[1]) if found[1] else found[0] for found in _STEP.finditer(path))


def joined(above: str, below: str) -> str:
    """The path of what is at ``below`` in what is at ``above``."""
    dot = "." if above and below and not below.startswith("[") else ""
    return f"{above}{dot}{below}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to change, and where."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message

    def below(self, prefix: str) -> Problem:
        """The same problem seen from a document in which its own is found at ``prefix``."""
        return Problem(joined(prefix, self.path), self.message)


@dataclass(frozen=True, slots=True)
class Problems:
    """Everything that is wrong, in the document's order. Never empty."""

    problems: tuple[Problem, ...]

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


def explain(
    error: ValidationError, model: type[BaseModel], kept: Callable[[ErrorDetails], bool] | None = None
) -> list[Problem]:
    """The problems of a document that pydantic refused as a ``model``; only those ``kept``, if that is given."""
    found: list[Problem] = []
    for details in error.errors(include_url=False):
        if kept is not None and not kept(details):
            continue
        parts = details["loc"]
        if details["type"] == "refused":
            more = details.get("ctx", {}).get("problems") or [((), details["msg"])]
            found.extend(Problem(path_of((*parts, *at)), message) for at, message in more)
        else:
            found.append(Problem(path_of(parts), _sentence(details, model)))
    return found


def _sentence(details: ErrorDetails, model: type[BaseModel]) -> str:
    value, context = details["input"], details.get("ctx", {})
    match details["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            *above, name = details["loc"]
            return not_a_field(str(name), _fields_at(model, above))
        case "greater_than_equal":
            return f"{value} is too small; it must be at least {context['ge']}"
        case "greater_than":
            return f"{value} is too small; it must be more than {context['gt']}"
        case "less_than_equal":
            return f"{value} is too large; it must be at most {context['le']}"
        case "too_short":
            return "must not be empty"
        case "literal_error":
            return f"{describe_value(value)} is not one of {context['expected']}"
    wanted = _WANTED.get(details["type"])
    return f"{describe_value(value)} is not {wanted}" if wanted else details["msg"]


_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text; put it in quotes",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping of fields",
    "model_type": "a mapping of fields",
    "model_attributes_type": "a mapping of fields",
}


def describe_value(value: Any) -> str:
    """``value`` as a message repeats it: not all of it, when it is long."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _fields_at(model: type[BaseModel], parts: Iterable[str | int]) -> list[str]:
    """The names of the fields that exist where ``parts`` lead to in a ``model``."""
    for part in parts:
        if isinstance(part, int):
            continue
        below = next(
            (_model_in(field.annotation) for field in model.model_fields.values() if field.alias == part), None
        )
        if below is None:
            return []
        model = below
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _model_in(inner)) is not None), None)
