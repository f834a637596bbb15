"""Nothing of upstream's tables is missing here unless it is said why."""

from __future__ import annotations

import importlib
import inspect
import math
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.upstream.rows import DIFFERENT, OMITTED, ROWS

HERE = Path(__file__).parent
GATES = "gates"
"""The argument that goes through a table again with other feature gates."""


def snake_case(name: str) -> str:
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z0-9]*|[A-Z]+", name)
    return "_".join(words).lower()


def rows_of(test: object) -> int:
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    tables = [mark for mark in marks if mark.args[0] != GATES or len(marks) == 1]
    return math.prod(len(mark.args[1]) for mark in tables)


def rows_here(directory: str) -> Counter[str]:
    """How many rows the tests of a directory have, by upstream's name in snake case."""
    found: Counter[str] = Counter()
    upstreams = sorted((snake_case(name) for name in ROWS[directory]), key=len, reverse=True)
    for file in sorted((HERE / directory).glob("test_*.py")):
        module = importlib.import_module(f"tests.integration.upstream.{directory}.{file.stem}")
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_") and test.__module__ == module.__name__:
                found[next((each for each in upstreams if name.startswith(each)), name)] += rows_of(test)
    return found


@pytest.mark.parametrize("directory", ROWS)
def test_every_row_of_upstreams_tables_is_here_or_it_is_said_why_not(directory: str) -> None:
    here = rows_here(directory)
    expected = {snake_case(name): count - len(OMITTED.get(name, ())) for name, count in ROWS[directory].items()}
    assert here == {name: count for name, count in expected.items() if count}


def test_what_is_said_about_tests_is_about_tests_that_exist() -> None:
    names = {name for tests in ROWS.values() for name in tests}
    assert set(OMITTED) | set(DIFFERENT) <= names
