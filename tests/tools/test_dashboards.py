"""The chart's dashboards, and how the metrics in an expression are found."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.promql import Selector, labels_by_metric, selectors, unknown_to
from tools.dashboards.__main__ import DIRECTORY
from tools.dashboards.grafana import COLUMNS
from tools.dashboards.pages import ALL


@pytest.mark.parametrize("name", ALL)
def test_the_chart_has_the_dashboards_as_they_are_written(name: str) -> None:
    assert (DIRECTORY / name).read_text() == ALL[name].to_json(), "run: make dashboards"


def panels(name: str) -> Iterator[dict[str, Any]]:
    yield from json.loads(ALL[name].to_json())["panels"]


@pytest.mark.parametrize("name", ALL)
def test_panels_do_not_overlap_and_have_a_title_and_a_sentence(name: str) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels(name):
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= COLUMNS
        taken |= cells
        if panel["type"] != "row":
            assert panel["description"].endswith((".", "report it."))
            assert panel["targets"]
    assert len({panel["id"] for panel in panels(name)}) == len(list(panels(name)))


@pytest.mark.parametrize("name", ALL)
def test_a_legend_names_labels_that_its_expression_keeps(name: str) -> None:
    for panel in ALL[name].panels():
        for query in panel.queries:
            named = {word.partition("}}")[0] for word in query.legend.split("{{")[1:]}
            (by,) = {query.expression.partition("by (")[2].partition(")")[0]}
            assert named <= {label.strip() for label in by.split(",")}, query


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("up", [("up", "")]),
        ('sum by (a, b) (rate(m_total{c=~"x|y{",d!="z"}[5m])) > 0.5', [("m_total", "a b c d")]),
        ("sum by (job) (m > 0) and on (job) n", [("m", "job"), ("n", "")]),
        ('absent(leads{job="by (x)"} == 1)', [("leads", "job")]),
        (
            "histogram_quantile(0.99, sum by (le) (rate(s_bucket[1h]))) / max(t)",
            [("s_bucket", "le"), ("t", "")],
        ),
    ],
)
def test_the_metrics_and_labels_of_an_expression_are_found(expression: str, expected: list[tuple[str, str]]) -> None:
    found = list(selectors(expression))
    assert found == [Selector(metric, frozenset(labels.split())) for metric, labels in expected]


def test_what_a_page_does_not_have_is_named() -> None:
    page = labels_by_metric('# TYPE m counter\nm{a="1",b="x, c=\\"y"} 2\nn 3e+06\n')
    assert page == {"m": {"a", "b"}, "n": set()}
    assert unknown_to(page, 'sum by (a, job) (m{b="x"})') == []
    assert unknown_to(page, 'sum by (c) (m{a="1"})') == ["m{c}"]
    assert unknown_to(page, "other") == ["other"]
