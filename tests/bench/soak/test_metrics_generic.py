"""Impossible values are reported of every metric."""

from __future__ import annotations

import pytest

from bench.soak.metrics import Scrape
from bench.soak.metrics.generic import bad_histograms, decreased_counters, impossible_values
from tests.bench.soak.page import TRUTH

SPREAD = """\
# TYPE h_seconds histogram
h_seconds_bucket{of="x",le="0.1"} 2
h_seconds_bucket{of="x",le="1"} 3
h_seconds_bucket{of="x",le="+Inf"} 4
h_seconds_sum{of="x"} 12.5
h_seconds_count{of="x"} 4
"""


@pytest.mark.parametrize("number", ["NaN", "-1", "+Inf"])
def test_a_number_that_is_none_or_below_zero_is_reported(number: str) -> None:
    text = f"{float(number):g}"
    assert list(impossible_values(Scrape(f'g{{a="b"}} {number}\n'))) == [f'g{{a="b"}} is {text}']


@pytest.mark.parametrize("value", ["soak-plain-17", "kwok-3", "0b3f2a10-8f1c-4d7e-9c55-6b1f3f0b2a11"])
def test_labels_that_name_pods_or_nodes_are_reported(value: str) -> None:
    assert list(impossible_values(Scrape(f'some_total{{of="{value}"}} 1\n'))) == [
        "some_total has a label that names pods or nodes"
    ]


def test_a_histogram_whose_parts_go_together_is_believed() -> None:
    assert list(bad_histograms(Scrape(SPREAD), TRUTH)) == []
    empty = SPREAD.replace("} 2", "} 0").replace("} 3", "} 0").replace("} 4", "} 0").replace("12.5", "0")
    assert list(bad_histograms(Scrape(empty), TRUTH)) == []


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        pytest.param('le="1"} 3', 'le="1"} 1', "has buckets that hold less than those before them", id="falling"),
        pytest.param('le="+Inf"} 4', 'le="+Inf"} 5', "counts 4, and 5 in its buckets", id="miscounted"),
        pytest.param("12.5", "1.05", "adds up to 1.05, and by its buckets to 1.1 to 61.2", id="too-little"),
        pytest.param("12.5", "61.5", "adds up to 61.5, and by its buckets to 1.1 to 61.2", id="longer-than-it-lives"),
        pytest.param(
            'h_seconds_sum{of="x"} 12.5\n', "", "lacks its sum, its count or a bucket without bound", id="incomplete"
        ),
        pytest.param('"+Inf"', '"9"', "lacks its sum, its count or a bucket without bound", id="bounded"),
    ],
)
def test_a_contradictory_histogram_is_reported(before: str, now: str, words: str) -> None:
    assert list(bad_histograms(Scrape(SPREAD.replace(before, now)), TRUTH)) == [f'h_seconds{{of="x"}} {words}']


def test_nothing_can_add_up_to_something() -> None:
    text = '# TYPE h histogram\nh_bucket{le="+Inf"} 0\nh_sum 0.5\nh_count 0\n'
    assert list(bad_histograms(Scrape(text), TRUTH)) == ["h adds up to 0.5, and by its buckets to 0 to 0"]


@pytest.mark.parametrize(
    ("before", "now", "doubted"),
    [
        pytest.param("# TYPE c counter\nc 5\n", "# TYPE c counter\nc 5\n", [], id="the-same"),
        pytest.param("# TYPE c counter\nc 5\n", "# TYPE c counter\nc 4\n", ["c was 5 before and is 4"], id="less"),
        pytest.param("# TYPE c counter\nc 5\n", "", ["c was 5 before and is 0"], id="gone"),
        pytest.param("# TYPE g gauge\ng 5\n", "# TYPE g gauge\ng 4\n", [], id="a-gauge"),
        pytest.param(
            SPREAD,
            SPREAD.replace("} 12.5", "} 12"),
            ['h_seconds_sum{of="x"} was 12.5 before and is 12'],
            id="a-histogram",
        ),
    ],
)
def test_what_only_grows_does_not_fall(before: str, now: str, doubted: list[str]) -> None:
    assert list(decreased_counters(Scrape(now), Scrape(before))) == doubted


def test_a_histogram_counts_as_its_sum_and_its_count() -> None:
    assert Scrape('h_bucket{le="1"} 1\nh_bucket{le="+Inf"} 1\nh_sum 0.5\nh_count 1\n').series == 2


def test_labels_may_hold_quotes_and_braces() -> None:
    assert Scrape('m{a="x\\"},{y",b="z"} 2.5e+06\n').sum("m", b="z") == 2.5e6
