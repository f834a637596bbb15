"""Metrics that cannot be true are told from those that are."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bench.soak.counted import Scrape, Truth, doubts

TRUTH = Truth(nodes=3, bound=5, waiting=2, gated=1, bound_by_it=4, leads=True)
TEXT = """\
# HELP scheduler_cache_size Nodes, pods on them, and pods that only we know to be there.
# TYPE scheduler_cache_size gauge
scheduler_cache_size{type="nodes"} 3
scheduler_cache_size{type="pods"} 5
scheduler_cache_size{type="assumed_pods"} 0
scheduler_pending_pods{queue="active"} 0
scheduler_pending_pods{queue="backoff"} 1
scheduler_pending_pods{queue="unschedulable"} 1
scheduler_pending_pods{queue="gated"} 1
leader_election_master_status{name="kube-scheduler"} 1
scheduler_schedule_attempts_total{result="scheduled",profile="a"} 3
scheduler_schedule_attempts_total{result="scheduled",profile="b"} 1
scheduler_schedule_attempts_total{result="unschedulable",profile="b"} 9
scheduler_scheduling_attempt_duration_seconds_bucket{result="scheduled",profile="a",le="0.001"} 4
scheduler_scheduling_attempt_duration_seconds_count{result="scheduled",profile="a"} 4
scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"} 4
scheduler_pod_scheduling_attempts_count 4
"""


def test_metrics_that_say_what_the_api_server_shows_are_believed() -> None:
    assert doubts(Scrape(TEXT), TRUTH) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": 4}, "cache_size of nodes is 3, and should be 4"),
        ({"bound": 6}, "cache_size of pods is 5, and should be 6"),
        ({"waiting": 0}, "pending_pods outside the gates is 2, and should be 0"),
        ({"gated": 0}, "pending_pods at the gates is 1, and should be 0"),
        ({"leads": False}, "leader_election_master_status is 1, and should be 0"),
    ],
)
def test_metrics_that_say_otherwise_are_told(change: dict[str, Any], words: str) -> None:
    assert doubts(Scrape(TEXT), dataclasses.replace(TRUTH, **change)) == [words]


def test_every_bound_pod_is_to_be_counted_wherever_pods_are() -> None:
    assert len(doubts(Scrape(TEXT), dataclasses.replace(TRUTH, bound_by_it=5))) == 4


def test_a_binding_of_which_nobody_knows_may_be_counted_or_not() -> None:
    assert doubts(Scrape(TEXT), dataclasses.replace(TRUTH, bound_by_it=3, bound_perhaps=1)) == []
    assert len(doubts(Scrape(TEXT), dataclasses.replace(TRUTH, bound_by_it=2, bound_perhaps=1))) == 4


@pytest.mark.parametrize("queue", ["active", "backoff"])
def test_only_of_the_leader_nothing_may_be_left_to_take(queue: str) -> None:
    moved = TEXT.replace('{queue="backoff"} 1', '{queue="backoff"} 0').replace(
        f'{{queue="{queue}"}} 0', f'{{queue="{queue}"}} 1'
    )
    standby = dataclasses.replace(TRUTH, leads=False)
    text = moved.replace('{name="kube-scheduler"} 1', '{name="kube-scheduler"} 0')
    assert len(doubts(Scrape(moved), TRUTH)) == (queue == "active")
    assert doubts(Scrape(text), standby) == []


@pytest.mark.parametrize("value", ["soak-plain-17", "kwok-3", "0b3f2a10-8f1c-4d7e-9c55-6b1f3f0b2a11"])
def test_labels_that_name_pods_or_nodes_are_told(value: str) -> None:
    scrape = Scrape(f'{TEXT}some_total{{of="{value}"}} 1\n')
    assert doubts(scrape, TRUTH) == ["some_total has a label that names pods or nodes"]


def test_a_histogram_counts_as_its_sum_and_its_count() -> None:
    assert Scrape('h_bucket{le="1"} 1\nh_bucket{le="+Inf"} 1\nh_sum 0.5\nh_count 1\n').series == 2


def test_labels_may_hold_quotes_and_braces() -> None:
    assert Scrape('m{a="x\\"},{y",b="z"} 2.5e+06\n').sum("m", b="z") == 2.5e6
