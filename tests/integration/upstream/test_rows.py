"""Nothing of upstream's tables is missing here unless it is said why."""

from __future__ import annotations

import pytest

from tests.integration.upstream import page
from tests.integration.upstream.counting import rows_in, snake_case
from tests.integration.upstream.rows import DIFFERENT, OMITTED, ROWS


@pytest.mark.parametrize("directory", ROWS)
def test_every_row_of_upstreams_tables_is_here_or_has_a_reason(directory: str) -> None:
    expected = {snake_case(name): count - len(OMITTED.get(name, ())) for name, count in ROWS[directory].items()}
    assert rows_in(directory) == {name: count for name, count in expected.items() if count}


def test_notes_about_tests_are_about_tests_that_exist() -> None:
    names = {name for tests in ROWS.values() for name in tests}
    assert set(OMITTED) | set(DIFFERENT) <= names


def test_the_documentation_has_the_table_of_all_rows() -> None:
    again = "python -m tests.integration.upstream.page writes it again"
    assert page.parts()[1] == page.table(), again
