"""Formatting of answers: YAML and JSON for programs, small tables for people."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from scheduler_operator.cli.console import printable

_GAP = "  "


def format_value(value: Any, form: str) -> str:
    """Return ``value`` as one document of YAML or JSON."""
    if form == "json":
        return json.dumps(whole_numbers(value), indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(whole_numbers(value), sort_keys=False, allow_unicode=True, width=2**31)


def format_values(values: Iterable[Any], form: str) -> str:
    """Return each of ``values`` as a document of its own."""
    between = "" if form == "json" else "---\n"
    return between.join(format_value(value, form) for value in values)


def whole_numbers(value: Any) -> Any:
    """Return ``value`` with whole numbers as integers: 50 and not 50.0, as Kubernetes writes them."""
    match value:
        case dict():
            return {key: whole_numbers(inner) for key, inner in value.items()}
        case list() | tuple():
            return [whole_numbers(inner) for inner in value]
        case float() if value.is_integer():
            return int(value)
    return value


def format_inline(value: Any) -> str:
    """Return ``value`` as YAML on one line."""
    return (
        yaml.safe_dump(value, default_flow_style=True, width=2**31, sort_keys=False)
        .removesuffix("\n")
        .removesuffix("\n...")
    )


def format_table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return ``rows`` below their ``heading``, in columns as wide as their text, ending in a newline."""
    lines = [[printable(cell) for cell in row] for row in (heading, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in lines)
    return "".join(f"{line.rstrip()}\n" for line in padded)


def without_repeats(rows: Iterable[Sequence[str]]) -> Iterable[Sequence[str]]:
    """Yield ``rows`` with the first cell only where it changes."""
    before = None
    for first, *rest in rows:
        yield ("" if first == before else first, *rest)
        before = first
