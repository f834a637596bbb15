"""Which tests here re-create which of upstream's, and with how many rows."""

from __future__ import annotations

import importlib
import inspect
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.integration.upstream.rows import ROWS

HERE = Path(__file__).parent
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
    """Every test of a directory."""
    upstreams = sorted((snake_case(name) for name in ROWS[directory]), key=len, reverse=True)
    for file in sorted((HERE / directory).glob("test_*.py")):
        module = importlib.import_module(f"tests.integration.upstream.{directory}.{file.stem}")
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_") and test.__module__ == module.__name__:
                upstream = next((each for each in upstreams if name.startswith(each)), name)
                yield Test(upstream, file.name, _rows_of(test))


def rows_in(directory: str) -> Counter[str]:
    """How many rows the tests of a directory have, by upstream's name in snake case."""
    found: Counter[str] = Counter()
    for test in tests_in(directory):
        found[test.name] += test.rows
    return found


def _rows_of(test: object) -> int:
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    tables = [mark for mark in marks if mark.args[0] != GATES or len(marks) == 1]
    return math.prod(len(mark.args[1]) for mark in tables)
