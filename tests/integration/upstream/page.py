"""The table of all of upstream's integration cases in docs/compared.md.

``python -m tests.integration.upstream.page`` writes it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.integration.upstream.counting import rows_in, snake_case, tests_in
from tests.integration.upstream.rows import DIFFERENT, OMITTED, ROWS

PAGE = Path(__file__).parents[3] / "docs/compared.md"
HEADING = "## kube-scheduler's own integration cases\n"
INTRODUCTION = """
kube-scheduler's integration tests (test/integration/scheduler, 1.36.4, with two that 1.37 added) run against a real API
server without kubelets.
They are re-created under the same names in tests/integration/upstream, row by row: {here} of their {rows} rows. A test
without a table counts as one row, a table that runs again with other feature gates as one table.

| directory | test | rows | here | in | missing rows, and differences of the test |
|---|---|---|---|---|---|
"""


def table() -> str:
    """The section with the table, as it has to be."""
    counted = {directory: rows_in(directory) for directory in ROWS}
    here = sum(sum(rows.values()) for rows in counted.values())
    rows = sum(sum(tests.values()) for tests in ROWS.values())
    lines = (line for directory in sorted(ROWS) for line in _lines(directory, counted[directory]))
    return HEADING + INTRODUCTION.format(here=here, rows=rows) + "".join(lines)


def _lines(directory: str, counted: Counter[str]) -> Iterator[str]:
    tests = list(tests_in(directory))
    for name, count in sorted(ROWS[directory].items()):
        files = sorted({test.file for test in tests if test.name == snake_case(name)})
        cells = (directory, name, count, counted[snake_case(name)], ", ".join(files), _remarks(name))
        yield f"| {' | '.join(map(str, cells))} |\n"


def _remarks(name: str) -> str:
    reasons = Counter(OMITTED.get(name, {}).values())
    missing = [f"{count} missing: {reason}" for reason, count in reasons.items()]
    return "; ".join([*missing, *([DIFFERENT[name]] if name in DIFFERENT else [])])


def parts() -> tuple[str, str, str]:
    """What the documentation has before the section, the section as it is, and what comes after."""
    before, heading, rest = PAGE.read_text().partition(HEADING)
    section, next_heading, after = rest.partition("\n## ")
    return before, heading + section, next_heading + after


if __name__ == "__main__":
    before, _, after = parts()
    PAGE.write_text(f"{before.rstrip()}\n\n{table()}{after}")
