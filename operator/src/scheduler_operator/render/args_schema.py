"""Schemas for the arguments of declared plugins, in the dialect of CustomResourceDefinitions (ADR 5).

The dialect is that of structural schemas: one ``type`` each, no references, and a field that is not among the
``properties`` is refused. A keyword that is not supported is refused as well: otherwise its author would rely on a
check that nobody makes. A ``default`` documents what the plugin does when the field is absent; it is checked like any
value, and never written into the document.

The work has bounds beside those on all that people write: on the number of patterns, their length and their size with
all repetitions, on the text that they are matched with, and on the values of an enum.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from scheduler_runtime.catalog.bounds import describe_value, list_words
from scheduler_runtime.catalog.suggestions import not_a_field
from scheduler_runtime.catalog.syntax import Duration, DurationField, Location

Schema = Mapping[str, Any]
SchemaProblems = Iterator[tuple[Location, str]]
"""Problems with their path within the schema or the value."""

_TYPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "object": (lambda value: isinstance(value, Mapping), "a mapping of fields"),
    "array": (lambda value: isinstance(value, list), "a list"),
    "string": (lambda value: isinstance(value, str), "text"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "integer": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
    "number": (lambda value: isinstance(value, (int, float)) and not isinstance(value, bool), "a number"),
}
_DOCUMENTATION = frozenset({"description", "title", "example", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"})
_ANY_TYPE = frozenset({"type", "enum", "default"}) | _DOCUMENTATION
_TYPE_KEYWORDS: Mapping[str, frozenset[str]] = {
    "object": frozenset(
        {"properties", "required", "additionalProperties", "minProperties", "maxProperties"}
        | {"x-kubernetes-preserve-unknown-fields"}
    ),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "boolean": frozenset(),
    "integer": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}),
}
_FORMATS = {
    "string": frozenset({"duration"}),
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}
_BITS = {"int32": 31, "int64": 63}
_MAX_DEPTH = 32
_MAX_PATTERNS = 32
"""Different patterns in a schema."""
_MAX_PATTERN = 256
"""Characters of a pattern."""
_MAX_MATCHED = 4096
"""Characters of a text that a pattern is matched with."""
_MAX_SIZE = 50_000
"""Size of all patterns in a schema, as :func:`_size` counts it: they are compiled in a quarter of a second."""
_MAX_WORK = 30_000_000
"""Bytes of text times the size of the pattern that each is matched with. A byte takes up to 20 ns for each item."""
_MAX_ENUM = 1000


@dataclass(slots=True)
class Work:
    """What checking by one schema has taken until now."""

    patterns: set[str] = field(default_factory=set)
    """Different patterns until now."""
    matched: int = 0
    """Bytes matched, times the size of the pattern."""


def schema_problems(schema: Any) -> SchemaProblems:
    """Yield the problems of the schema of a plugin's arguments: everything that could not be checked by it."""
    if isinstance(schema, Mapping) and schema.get("type") != "object":
        yield ("type",), "must be object: arguments are a mapping of fields"
    yield from _problems(schema, (), Work())


def _problems(schema: Any, at: Location, work: Work) -> SchemaProblems:
    """Yield the problems of a schema at a place; ``work`` grows."""
    if not isinstance(schema, Mapping):
        yield at, "is not a schema; write a mapping such as {type: string}"
        return
    if len(at) > _MAX_DEPTH:
        yield at, f"is nested deeper than {_MAX_DEPTH} levels"
        return
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        yield (*at, "type"), f"{describe_value(kind)} is not one of {', '.join(_TYPES)}"
        return
    for keyword in schema:
        if keyword not in _ANY_TYPE | _TYPE_KEYWORDS[kind]:
            yield (*at, keyword), f"is not understood for type {kind}, so that nothing would be checked; leave it out"
    if isinstance(pattern := schema.get("pattern"), str):
        work.patterns.add(pattern)
        if len(work.patterns) > _MAX_PATTERNS:
            yield (*at, "pattern"), f"is one of more than {_MAX_PATTERNS} different patterns; leave some out"
            return
        if sum(_size(other) for other in work.patterns if len(other) <= _MAX_PATTERN) > _MAX_SIZE:
            message = (
                f"makes the patterns larger than {_MAX_SIZE:,} items, with all repetitions and classes written out"
            )
            yield (*at, "pattern"), f"{message}; lower the counts in braces, or write [0-9] for \\d, [a-z] for \\w"
            return
    yield from _keyword_problems(schema, kind, at, work)
    # Schemas inside, whatever is wrong around them.
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        yield from _problems(inner, (*at, "properties", name), work)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _problems(schema["additionalProperties"], (*at, "additionalProperties"), work)
    if "items" in schema:
        yield from _problems(schema["items"], (*at, "items"), work)
    elif kind == "array":
        yield (*at, "items"), "is required: the schema of an entry"


def _keyword_problems(schema: Schema, kind: str, at: Location, work: Work) -> SchemaProblems:
    """Yield the problem of the first keyword with an invalid value; those of the default only where none is."""
    for keyword, (is_valid, description) in _KEYWORDS.items():
        if keyword in schema and keyword in _TYPE_KEYWORDS[kind] | _ANY_TYPE and not is_valid(schema[keyword]):
            yield (*at, keyword), f"{describe_value(schema[keyword])} is not {description}"
            return
    if (form := schema.get("format")) is not None and form not in _FORMATS.get(kind, ()):
        supported = ", ".join(sorted(_FORMATS.get(kind, ())))
        yield (*at, "format"), f"{describe_value(form)} is not understood for type {kind}; understood is {supported}"
        return
    if (pattern := schema.get("pattern")) is not None and (message := _pattern_problem(pattern)):
        yield (*at, "pattern"), message
        return
    if "default" in schema:
        for where, message in value_problems(schema, schema["default"], work):
            yield (*at, "default", *where), message


def _pattern_problem(pattern: str) -> str:
    """Return why ``pattern`` cannot be used; empty if it can."""
    if len(pattern) > _MAX_PATTERN:
        return f"{describe_value(pattern)} has more than {_MAX_PATTERN} characters; shorten it"
    items = {item.lastgroup for item in _ITEM.finditer(pattern)}
    if "verbose" in items:  # neither this nor the next is in CRDs, and ``_size`` does not count it
        return f"{describe_value(pattern)} has the flag x; leave it out, with the spaces and comments"
    if "bracket" in items:
        return rf"{describe_value(pattern)} has a bracket that is not closed, or one within brackets; write it as \["
    try:
        _adapter(pattern)
    except SchemaError:
        mistake = "is not a regular expression, or one with look-around, which is not understood"
        return f"{describe_value(pattern)} {mistake}"
    return ""


_ITEM = re.compile(
    r"""
      (?P<class> \[ \^? \]? ( \\. | \[:\^?\w+:\] | [^\]\\[] )* \] )
    | \{ \s* (?P<least> \d* ) \s* ,? \s* (?P<most> \d* ) \s* \}
    | (?P<quantifier> [*+?] )
    | (?P<verbose> \( \? [a-zA-Z-]* x [a-zA-Z-]* [:)] )
    | (?P<open> \( ) | (?P<close> \) )
    | (?P<bracket> \[ )
    | \\ [pPxuU] \{ [^}]* \} | \\ b \{ [a-z-]+ \} | \\? .
    """,
    re.VERBOSE | re.DOTALL,
)
"""One item of a regular expression."""
_LARGE_ITEMS = (
    (50, re.compile(r"\\[wWdDsSpPbB]")),  # hundreds of ranges of Unicode
    (10, re.compile(r"\[:?\^|[^\x00-\x7f]|^\.$")),  # characters of one to four bytes
)


@lru_cache(maxsize=_MAX_PATTERNS)
def _size(pattern: str) -> int:
    """Return how many items a pattern has at most, with counted repetitions written out and classes by their ranges."""
    closed, last = [0], 0  # of each group that is open: the items in it, without the last one, which may be repeated
    for item in _ITEM.finditer(pattern):
        match item.lastgroup:
            case "quantifier":
                last += 1
            case "least" | "most":
                last *= max(1, *(int(count[:9]) for count in (item["least"], item["most"]) if count))
            case "open":
                closed[-1] += last
                closed.append(1)
                last = 0
            case "close" if len(closed) > 1:
                last += closed.pop()
            case _:
                closed[-1] += last
                sizes = (size for size, large in _LARGE_ITEMS if large.search(item[0]))
                last = next(sizes, 1 + len(item[0]) // 16)
    return max(1, sum(closed) + last)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and _is_finite(value)


def _is_finite(value: float) -> bool:
    """Return whether ``value`` is a number for the API server too, which has no integers beyond its floats."""
    return abs(value) <= sys.float_info.max  # math.isfinite raises for such integers


_KEYWORDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "properties": (lambda value: isinstance(value, Mapping), "a mapping of names to schemas"),
    "required": (
        lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
        "a list of names",
    ),
    "additionalProperties": (lambda value: isinstance(value, (bool, Mapping)), "true, false or a schema"),
    "x-kubernetes-preserve-unknown-fields": (lambda value: value is True, "true"),
    "enum": (
        lambda value: isinstance(value, list) and 0 < len(value) <= _MAX_ENUM,
        f"a list of 1 to {_MAX_ENUM:,} values",
    ),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
    "pattern": (lambda value: isinstance(value, str), "text"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), (_is_count, "a count")),
    **dict.fromkeys(("minProperties", "maxProperties"), (_is_count, "a count")),
    **dict.fromkeys(("minimum", "maximum"), (_is_number, "a number")),
    # A number since draft 6 of JSON Schema; true, in OpenAPI 3.0 as CRDs have it, makes the bound beside it exclusive.
    **dict.fromkeys(
        ("exclusiveMinimum", "exclusiveMaximum"),
        (lambda value: isinstance(value, bool) or _is_number(value), "a number, or true beside a bound"),
    ),
}


def value_problems(schema: Schema, value: Any, work: Work | None = None) -> SchemaProblems:
    """Yield the problems of ``value`` by a ``schema`` that has none itself."""
    work = Work() if work is None else work
    is_of_type, description = _TYPES[schema["type"]]
    if not is_of_type(value):
        yield (), f"{describe_value(value)} is not {description}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield (), f"{describe_value(value)} is not one of {list_words(schema['enum'])}"
        return
    match schema["type"]:
        case "object":
            yield from _object_problems(schema, value, work)
        case "array":
            yield from _array_problems(schema, value, work)
        case "string":
            yield from _string_problems(schema, value, work)
        case "integer" | "number":
            yield from _number_problems(schema, value)


def _array_problems(schema: Schema, value: Sequence[Any], work: Work) -> SchemaProblems:
    seen: set[str] = set()
    for index, inner in enumerate(value):
        yield from _below(index, value_problems(schema["items"], inner, work))
        if schema.get("uniqueItems"):
            # Compared as texts, 1.0 as 1: a list is no key, and comparing each with each has no bound.
            text = json.dumps(_without_fractions(inner), sort_keys=True)
            if text in seen:
                yield (index,), f"{describe_value(inner)} is there already"
            seen.add(text)
    yield from _count_problems(schema, len(value), "Items", "entries")


def _string_problems(schema: Schema, value: str, work: Work) -> SchemaProblems:
    yield from _count_problems(schema, len(value), "Length", "characters")
    if "pattern" in schema and len(value) > _MAX_MATCHED:
        yield (), f"is {len(value):,} characters long; a pattern is matched with at most {_MAX_MATCHED:,}"
    elif "pattern" in schema:
        work.matched += len(value.encode(errors="surrogatepass")) * _size(schema["pattern"])
        if work.matched > _MAX_WORK:
            yield (
                (),
                "is too much to match, with all texts before; shorten texts, or lower counts in braces of patterns",
            )
            return
        try:
            _adapter(schema["pattern"]).validate_python(value)
        except ValidationError:
            yield (), f"{describe_value(value)} does not match {schema['pattern']}"
    if schema.get("format") == "duration":
        try:
            is_duration = Duration(_DURATION.validate_python(value)).seconds >= 0
        except ValidationError:
            is_duration = False
        if not is_duration:
            yield (), f"{describe_value(value)} is not a duration; write it like 15s or 1m30s"


def _object_problems(schema: Schema, value: Mapping[str, Any], work: Work) -> SchemaProblems:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", schema.get("x-kubernetes-preserve-unknown-fields", False))
    for name in schema.get("required", ()):
        if name not in value:
            yield (name,), "is required"
    for name, inner in value.items():
        if name in properties:
            yield from _below(name, value_problems(properties[name], inner, work))
        elif isinstance(others, Mapping):
            yield from _below(name, value_problems(others, inner, work))
        elif not others:
            yield (name,), not_a_field(name, list(properties))
    yield from _count_problems(schema, len(value), "Properties", "fields")


def _count_problems(schema: Schema, count: int, of: str, what: str) -> SchemaProblems:
    if count < schema.get(f"min{of}", 0):
        yield (), f"has {count} {what}; at least {schema[f'min{of}']} are needed"
    if count > schema.get(f"max{of}", count):
        yield (), f"has {count} {what}; at most {schema[f'max{of}']} are possible"


def _number_problems(schema: Schema, value: float) -> SchemaProblems:
    """Yield the problems of a number. Exclusive bounds are numbers, or true beside the bound they make exclusive."""
    if not _is_finite(value):
        yield (), f"{describe_value(value)} is not a number that an object can hold"
        return
    least, more_than = schema.get("minimum"), schema.get("exclusiveMinimum")
    most, less_than = schema.get("maximum"), schema.get("exclusiveMaximum")
    if more_than is True or less_than is True:
        least, more_than = (None, least) if more_than is True else (least, more_than)
        most, less_than = (None, most) if less_than is True else (most, less_than)
    if least is not None and value < least:
        yield (), f"{value} is too small; it must be at least {least}"
    if most is not None and value > most:
        yield (), f"{value} is too large; it must be at most {most}"
    if more_than is not None and not isinstance(more_than, bool) and value <= more_than:
        yield (), f"{value} is too small; it must be more than {more_than}"
    if less_than is not None and not isinstance(less_than, bool) and value >= less_than:
        yield (), f"{value} is too large; it must be less than {less_than}"
    # 0.3 is a multiple of 0.1, although 0.3 / 0.1 is not quite 3 in floating point.
    if factor := schema.get("multipleOf"):
        quotient = value / factor  # beyond all floats it is no whole number, as for Kubernetes
        if math.isinf(quotient) or abs(quotient - round(quotient)) > 1e-9:
            yield (), f"{value} is not a multiple of {factor}"
    bits = _BITS.get(schema.get("format", ""))
    if bits and not -(2**bits) <= value < 2**bits:
        yield (), f"{value} does not fit {schema['format']}"


def _without_fractions(value: Any) -> Any:
    """Return ``value`` with whole numbers written as such: 1.0 and 1 are the same to JSON."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_without_fractions(inner) for inner in value]
        case Mapping():
            return {key: _without_fractions(inner) for key, inner in value.items()}
    return value


def _below(step: str | int, problems: SchemaProblems) -> SchemaProblems:
    return (((step, *at), message) for at, message in problems)


@lru_cache(maxsize=_MAX_PATTERNS)
def _adapter(pattern: str) -> TypeAdapter[str]:
    """Return an adapter for pydantic's own regular expressions: they match in linear time (ADR 5)."""
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])


_DURATION: TypeAdapter[str] = TypeAdapter(DurationField)
