"""Expressions of PromQL, as far as it takes to see which metrics and labels they read.

Whether they are written as Prometheus reads them is judged by promtool; what they come to, by Prometheus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

ADDED = frozenset({"job", "instance"})
"""Labels that Prometheus adds to whatever it scrapes."""
OWN = frozenset({"up"})
"""Metrics that Prometheus makes itself."""
_GROUPING = ("by", "without", "on", "ignoring")
_WORDS = frozenset({"and", "or", "unless", "bool"})
_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*")|(?P<range>\[[^]]*\])|(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)|(?P<number>[0-9][0-9a-z.]*)|(?P<sign>\S)"""
)


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric with the labels that an expression reads of it."""

    metric: str
    labels: frozenset[str]


def selectors(expression: str) -> Iterator[Selector]:
    """Yield every metric that ``expression`` reads, with the labels of its matchers and of the groupings around it.

    A grouping stands before what it groups: ``sum by (a) (m)``.
    """
    tokens = [(match.lastgroup, match.group()) for match in _TOKEN.finditer(expression)]
    groupings: list[frozenset[str]] = []
    pending: frozenset[str] = frozenset()
    index = 0
    while index < len(tokens):
        kind, word = tokens[index]
        following = tokens[index + 1][1] if index + 1 < len(tokens) else ""
        index += 1
        if word in _GROUPING:
            pending, index = _labels(tokens, index, ")")
            if word != "by":
                pending = frozenset()
        elif word == "(":
            groupings.append(pending)
            pending = frozenset()
        elif word == ")":
            groupings.pop()
        elif kind == "name" and word not in _WORDS and following not in ("(", *_GROUPING):
            matchers: frozenset[str] = frozenset()
            if following == "{":
                matchers, index = _labels(tokens, index, "}")
            yield Selector(word, matchers.union(*groupings))


def _labels(tokens: list[tuple[str | None, str]], index: int, end: str) -> tuple[frozenset[str], int]:
    """Return the names up to ``end``, and the index behind it."""
    stop = next(number for number in range(index, len(tokens)) if tokens[number][1] == end)
    return frozenset(word for kind, word in tokens[index:stop] if kind == "name"), stop + 1


def labels_by_metric(page: str) -> dict[str, set[str]]:
    """Return the names of all series of a page of metrics, with their labels."""
    labels: dict[str, set[str]] = {}
    for name, pairs in re.findall(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$", page, re.MULTILINE):
        labels.setdefault(name, set()).update(re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="', pairs))
    return labels


def unknown_to(page: Mapping[str, set[str]], expression: str) -> list[str]:
    """Return what ``expression`` reads and a page of metrics does not have."""
    problems = []
    for selector in selectors(expression):
        if selector.metric in OWN:
            continue
        known = page.get(selector.metric)
        if known is None:
            problems.append(selector.metric)
        elif missing := selector.labels - known - ADDED:
            problems.append(f"{selector.metric}{{{', '.join(sorted(missing))}}}")
    return problems
