"""Count of upstream's tests that are re-created here, with the number of their rows."""

from __future__ import annotations

import importlib
import inspect
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.integration.upstream.rows import ELSEWHERE, ROWS

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
GATES = "gates"
"""The argument that goes through a table again with other feature gates."""


class Test(NamedTuple):
    """A test, by upstream's name in snake case, or its own when upstream has none like it."""

    name: str
    file: str
    rows: int


def snake_case(name: str) -> str:
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z0-9]*|[A-Z]+", name)
    return "_".join(words).lower()


def tests_in(directory: str) -> Iterator[Test]:
    """Every test of a directory, and those elsewhere that have the name of one of upstream's."""
    for file in sorted((HERE / directory).glob("test_*.py")):
        for name, test in _functions(file):
            yield Test(_upstream(directory, name) or name, file.name, _rows_of(test))
    for path in ELSEWHERE.get(directory, ()):
        for name, test in _functions(ROOT / path):
            if upstream := _upstream(directory, name):
                yield Test(upstream, path, _rows_of(test))


def _functions(file: Path) -> list[tuple[str, object]]:
    module = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    functions = inspect.getmembers(module, inspect.isfunction)
    return [
        (name, function)
        for name, function in functions
        if name.startswith("test_") and function.__module__ == module.__name__
    ]


def _upstream(directory: str, name: str) -> str:
    """The name that a test of upstream's has in snake case; empty for a test of our own."""
    upstreams = sorted((snake_case(row) for row in ROWS[directory]), key=len, reverse=True)
    return next((upstream for upstream in upstreams if name.startswith(upstream)), "")


def rows_in(directory: str) -> Counter[str]:
    """How many rows the tests of a directory have, by upstream's name in snake case."""
    rows: Counter[str] = Counter()
    for test in tests_in(directory):
        rows[test.name] += test.rows
    return rows


def _rows_of(test: object) -> int:
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    tables = [mark for mark in marks if mark.args[0] != GATES or len(marks) == 1]
    return math.prod(len(mark.args[1]) for mark in tables)
