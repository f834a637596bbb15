"""Small tables for people: columns as wide as their text, and no lines between."""

from collections.abc import Iterable, Sequence

from scheduler_operator.cli.console import printable

_GAP = "  "


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """``rows`` below their ``heading``, ending in a newline. The last column is never padded."""
    lines = [[printable(cell) for cell in row] for row in (heading, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(f"{_line(row, widths)}\n" for row in lines)


def grouped(rows: Iterable[Sequence[str]]) -> Iterable[Sequence[str]]:
    """``rows`` with the first cell only where it changes."""
    before = None
    for first, *rest in rows:
        yield ("" if first == before else first, *rest)
        before = first


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
