"""Problems of a document as values, not exceptions: a path and a sentence each, all of them at once.

A path, ``profiles[0].plugins.score``, is what an author reads; its steps, names of fields and indices, are what
programs follow. :func:`explain` turns what pydantic reports into sentences that say what to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scheduler_runtime.catalog.bounds import MAX_MESSAGE, MAX_PROBLEMS, cut, describe_value
from scheduler_runtime.catalog.masking import MASK, SECRET_FIELDS, masked
from scheduler_runtime.catalog.suggestions import not_a_field

Step = str | int
"""The name of a field, or the index of an entry in a list."""
_STEP = re.compile(r"\[(\d+)\]|[^.\[\]]+")


def path_of(steps: Iterable[Step]) -> str:
    """Return the path that consists of ``steps``."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def steps_of(path: str) -> tuple[Step, ...]:
    """Return the steps of a ``path``."""
    return tuple(int(match[1]) if match[1] else match[0] for match in _STEP.finditer(path))


def joined(above: str, below: str) -> str:
    """Return the path of the value at ``below`` in the value at ``above``. Either may be empty."""
    dot = "." if above and below and not below.startswith("[") else ""
    return f"{above}{dot}{below}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to change, and its place."""

    path: str
    """Empty for the document as a whole."""
    message: str
    """The rest of a sentence whose subject is the path: ``is required``. It has no password; a long one is cut off."""

    def __post_init__(self) -> None:
        if len(self.message) > MAX_MESSAGE or "://" in self.message:
            object.__setattr__(self, "message", cut(masked(self.message)))

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message

    def below(self, prefix: str) -> Problem:
        """Return the same problem as part of a larger document, which has this one at ``prefix``."""
        return Problem(joined(prefix, self.path), self.message)


MORE_PROBLEMS = Problem("", f"more than {MAX_PROBLEMS} problems: the others are left out; correct these first")


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
    error: ValidationError, model: type[BaseModel], matters: Callable[[ErrorDetails], bool] | None = None
) -> list[Problem]:
    """Return the problems of a document that pydantic refused as a ``model``.

    They are a hundred at most, and one more that says so. With ``matters``, only errors for which it returns True
    become problems. An error raised by :func:`~scheduler_runtime.catalog.syntax.refuse` has several problems, each at a
    place below its own.
    """
    problems: list[Problem] = []
    for details in error.errors(include_url=False):
        if len(problems) > MAX_PROBLEMS:
            break
        if matters is not None and not matters(details):
            continue
        steps = details["loc"]
        if details["type"] == "refused":
            refusals = details.get("ctx", {}).get("problems") or [((), details["msg"])]
            problems.extend(Problem(path_of((*steps, *location)), message) for location, message in refusals)
        else:
            problems.append(Problem(path_of(steps), _sentence(details, model)))
    return [*problems[:MAX_PROBLEMS], *([MORE_PROBLEMS] if len(problems) > MAX_PROBLEMS else [])]


def _sentence(details: ErrorDetails, model: type[BaseModel]) -> str:
    value, context = details["input"], details.get("ctx", {})
    if not SECRET_FIELDS.isdisjoint(details["loc"]):
        value = MASK
    match details["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            *above, name = details["loc"]
            return not_a_field(str(name), _fields_at(model, above))
        case "greater_than_equal":
            return f"{describe_value(value)} is too small; it must be at least {context['ge']}"
        case "greater_than":
            return f"{describe_value(value)} is too small; it must be more than {context['gt']}"
        case "less_than_equal":
            return f"{describe_value(value)} is too large; it must be at most {context['le']}"
        case "string_pattern_mismatch":
            return f"{describe_value(value)} does not have the form {context['pattern']}"
        case "too_short":
            return "must not be empty"
        case "literal_error":
            return f"{describe_value(value)} is not one of {context['expected']}"
    expected = _EXPECTED_TYPES.get(details["type"])
    return f"{describe_value(value)} is not {expected}" if expected else details["msg"]


_EXPECTED_TYPES: Mapping[str, str] = MappingProxyType(
    {
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
)
"""The end of the sentence about a value of the wrong type, by pydantic's name of the error."""


def _fields_at(model: type[BaseModel], steps: Iterable[Step]) -> list[str]:
    """Return the names of the fields that exist where ``steps`` lead to in a ``model``; none where that is no model."""
    for step in steps:
        if isinstance(step, int):
            continue
        fields = model.model_fields.values()
        below = next((_model_in(field.annotation) for field in fields if field.alias == step), None)
        if below is None:
            return []
        model = below
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model in a field's type: ``X`` of ``X``, ``X | None`` and ``tuple[X, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for inner in get_args(annotation) if (model := _model_in(inner)) is not None), None)
