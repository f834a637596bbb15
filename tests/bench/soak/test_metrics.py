"""Metrics that cannot be true are told from those that are."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.soak.metrics import FAMILIES, Scrape, doubts, doubts_about_resources
from scheduler_runtime.catalog import Target
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.serving.scrape_gauges import add_document_gauges, add_scheduler_gauges
from tests.bench.soak.page import TRUTH, changed, page

STANDBY = dataclasses.replace(TRUTH, leads=False, bound_by_it=0, refused=0, evicted=0)


def doubts_of(text: str, **truth: Any) -> list[str]:
    """The doubts about a page when the truth differs in these points."""
    return doubts(Scrape(text), dataclasses.replace(TRUTH, **truth))


def test_metrics_that_say_what_others_show_are_believed() -> None:
    assert doubts_of(page()) == []
    assert doubts(Scrape(page()), TRUTH, Scrape(page())) == []


async def test_every_family_that_a_scheduler_has_is_judged_and_no_other() -> None:
    metrics = Metrics()
    parts: Any = SimpleNamespace(cache=None, queue=None, binder=None, election=SimpleNamespace(name="lease"))
    add_scheduler_gauges(metrics, parts, Target.parse("1.36"))
    add_document_gauges(metrics, cast("Any", None), "file")
    assert {family.name for family in metrics._all()} == set(FAMILIES)


def test_a_family_without_a_rule_is_reported() -> None:
    assert doubts_of(page() + '# TYPE new histogram\nnew_bucket{le="+Inf"} 0\nnew_sum 0\nnew_count 0\n') == [
        "nobody judges new"
    ]
    assert doubts_of(page() + "untyped 1\n") == ["nobody judges untyped"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": 4}, "cache_size of nodes is 3, and should be 4"),
        ({"bound": 6}, "cache_size of pods is 5, and should be 6"),
        ({"gated": 0}, "pending_pods at the gates is 1, and should be 0"),
        ({"waiting": 1}, "pending_pods outside the gates is 2, and should be 1"),
        ({"waiting": 4}, "schedule_attempts_total in vain is 3, and should be at least 4"),
        ({"leads": False}, "leader_election_master_status is 1, and should be 0"),
        ({"leads": False}, "schedule_attempts_total of a standby is 7, and should be 0"),
        ({"leads": False}, "unschedulable_pods of NodeResourcesFit is 2, and should be 0"),
        ({"refused": 0}, "scheduling_algorithm_duration_seconds_count is 8, and should be 7"),
        ({"evicted": 3}, "preemption_victims_sum is 2, and should be 3"),
        ({"refusals": 2}, "berth_document_refusals_total is 1, and should be 2"),
        (
            {"answers": {**TRUTH.answers, ("POST", "201"): 9}},
            "rest_client_requests_total of POST 201 is 10, and should be 9",
        ),
        (
            {"answers": {**TRUTH.answers, ("PATCH", "200"): 1}},
            "rest_client_requests_total of PATCH 200 is 0, and should be 1",
        ),
    ],
)
def test_metrics_that_differ_are_reported(change: dict[str, Any], words: str) -> None:
    assert words in doubts_of(page(), **change)


@pytest.mark.parametrize(
    ("series", "number", "words"),
    [
        ('scheduler_cache_size{type="assumed_pods"}', 1, "cache_size of assumed pods is 1, and should be 0"),
        ('scheduler_pending_pods{queue="active"}', 1, "pending_pods that are active is 1, and should be 0"),
        ("berth_yielding_pods", 1, "yielding_pods is 1, and should be 0"),
        ('berth_slow_attempts_total{profile="b"}', 8, "slow_attempts_total is 8, and should be 0 to 7"),
        ('scheduler_goroutines{operation="binding"}', 1, "goroutines of bindings is 1, and should be 0"),
        ('scheduler_inflight_events{event="PodPop"}', 1, "inflight_events is 1, and should be 0"),
        (
            'scheduler_unschedulable_pods{plugin="SchedulingGates",profile="a"}',
            2,
            "unschedulable_pods of SchedulingGates is 2, and should be 1",
        ),
        (
            'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="b"}',
            1,
            "unschedulable_pods of all plugins at the waiting is 1, and should be at least 2",
        ),
        (
            'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="b"}',
            3,
            "unschedulable_pods of NodeResourcesFit is 3, and should be 0 to 2",
        ),
        (
            'scheduler_queue_incoming_pods_total{queue="active",event="UnschedulablePodAdd"}',
            6,
            "queue_incoming_pods_total that were new is 6, and should be at least 7",
        ),
        (
            'scheduler_queue_incoming_pods_total{queue="active",event="UnschedulablePodAdd"}',
            7,
            "queue_incoming_pods_total that were active is 7, and should be at least 8",
        ),
        (
            'scheduler_schedule_attempts_total{result="unschedulable",profile="b"}',
            3,
            "scheduling_attempt_duration_seconds_count of unschedulable b is 2, and should be 3",
        ),
        (
            'scheduler_schedule_attempts_total{result="unschedulable",profile="b"}',
            3,
            "runs of PostFilter of b is 2, and should be 3",
        ),
        ("scheduler_pod_scheduling_attempts_sum", 3, "pod_scheduling_attempts_sum is 3, and should be 4 to 8"),
        (
            'scheduler_pod_scheduling_attempts_bucket{le="1"}',
            2,
            "pod_scheduling_attempts of one is 2, and should be 3",
        ),
        ("scheduler_pod_scheduled_after_flush_total", 5, "pod_scheduled_after_flush_total is 5, and should be 0 to 4"),
        ("scheduler_scheduling_algorithm_duration_seconds_count", 9, "runs of PreFilter is 8, and should be 9"),
        (
            'scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter",status="Success",profile="a"}',
            5,
            "runs of Filter is 9, and should be 0 to 8",
        ),
        (
            'scheduler_framework_extension_point_duration_seconds_count{extension_point="PreEnqueue",status="Success",profile="a"}',
            7,
            "runs of PreEnqueue is 7, and should be at least 8",
        ),
        (
            'scheduler_framework_extension_point_duration_seconds_count{extension_point="Bind",status="Success",profile="b"}',
            1,
            "runs of Bind of b is 1, and should be 2",
        ),
        (
            'scheduler_plugin_execution_duration_seconds_count{plugin="NodeAffinity",extension_point="PreFilter",status="Success"}',
            9,
            "plugin_execution_duration_seconds_count of NodeAffinity at PreFilter is 9, and should be 0 to 8",
        ),
        (
            'scheduler_plugin_evaluation_total{plugin="NodeAffinity",extension_point="Filter",profile="a"}',
            2,
            "plugin_execution_duration_seconds_count of NodeAffinity at Filter is 3, and should be 0 to 2",
        ),
        ("scheduler_preemption_attempts_total", 2, "preemption_attempts_total is 2, and should be 3"),
        ("scheduler_preemption_victims_sum", 4, "preemption_victims_sum is 4, and should be 2 to 3"),
        ("scheduler_preemption_victims_count", 2, "preemption_victims_count is 2, and should be 1"),
        (
            'scheduler_preemption_goroutines_execution_total{result="success"}',
            2,
            "preemption_goroutines_duration_seconds_count of success is 1, and should be 2",
        ),
        (
            'scheduler_preemption_goroutines_execution_total{result="success"}',
            0,
            "preemption_goroutines_execution_total is 0, and should be 1",
        ),
        (
            'rest_client_request_duration_seconds_count{verb="POST",host="server"}',
            10,
            "rest_client_request_duration_seconds_count of POST is 10, and should be 11",
        ),
        (
            'rest_client_response_size_bytes_count{verb="GET",host="server"}',
            4,
            "rest_client_response_size_bytes_count of GET is 4, and should be 3",
        ),
        (
            'rest_client_requests_total{code="200",method="GET",host="server"}',
            0,
            "rest_client_requests_total of GET 200 is 0, and should be at least 1",
        ),
        ("process_cpu_seconds_total", 3, "process_cpu_seconds_total is 3, and should be 1.9 to 2.1"),
        (
            "process_resident_memory_bytes",
            5e7,
            "process_resident_memory_bytes is 50000000, and should be 90000000 to 110000000",
        ),
        ("process_start_time_seconds", 990, "process_start_time_seconds is 990, and should be 999 to 1060"),
        ("process_open_fds", 50, "process_open_fds is 50, and should be 4 to 36"),
        ("process_max_fds", 1, "process_max_fds is 1, and should be 1024"),
        ("python_threads", 0, "python_threads is 0, and should be 1 to 13"),
        ("python_tasks", 0, "python_tasks is 0, and should be at least 1"),
        (
            "berth_event_loop_lag_seconds_count",
            1e6,
            "berth_event_loop_lag_seconds_count is 1000000, and should be 1 to 241",
        ),
        ('kubernetes_feature_enabled{name="Some",stage=""}', 2, "kubernetes_feature_enabled of Some is 2"),
        (
            'berth_document_not_followed{why="refused"}',
            1,
            "berth_document_not_followed for refused is 1, and should be 0",
        ),
    ],
)
def test_an_impossible_number_is_reported(series: str, number: float, words: str) -> None:
    assert words in doubts_of(changed(page(), series, number))


def test_every_bound_pod_is_to_be_counted_wherever_pods_are() -> None:
    assert len([doubt for doubt in doubts_of(page(), bound_by_it=5) if doubt.endswith(" is 4, and should be 5")]) == 4


def test_a_binding_of_which_nobody_knows_may_be_counted_or_not() -> None:
    assert doubts_of(page(), bound_by_it=3, bound_perhaps=1) == []
    assert len(doubts_of(page(), bound_by_it=2, bound_perhaps=1)) == 4


def test_a_wait_for_a_permit_is_reported() -> None:
    series = 'scheduler_permit_wait_duration_seconds_{}{{result="Success"{}}} 0.5\n'
    text = "# TYPE scheduler_permit_wait_duration_seconds histogram\n" + "".join(
        series.format(part, more).replace("0.5", number)
        for part, more, number in (("bucket", ',le="+Inf"', "1"), ("sum", "", "0.5"), ("count", "", "1"))
    )
    assert doubts_of(page() + text) == ["permit_wait_duration_seconds_count is 1, and should be 0"]


def test_a_late_answer_counts_as_an_answer() -> None:
    text = changed(page(), 'rest_client_requests_total{code="409",method="POST",host="server"}', 0).replace(
        'code="409"', 'code="<error>"'
    )
    late = changed(text, 'rest_client_requests_total{code="<error>",method="POST",host="server"}', 1)
    assert [doubt for doubt in doubts_of(late) if "requests_total" in doubt] == []
    assert [doubt for doubt in doubts_of(text) if "requests_total" in doubt] == [
        "rest_client_requests_total of POST 409 is 0, and should be 1"
    ]


@pytest.mark.parametrize(("queue", "doubted"), [("active", 1), ("backoff", 0)])
def test_only_the_leader_must_have_an_empty_active_queue(queue: str, doubted: int) -> None:
    text = changed(page(), 'scheduler_pending_pods{queue="backoff"}', 0)
    moved = changed(text, f'scheduler_pending_pods{{queue="{queue}"}}', 1)
    assert len(doubts_of(moved)) == doubted
    assert not any("active" in doubt for doubt in doubts(Scrape(moved), STANDBY))


RESOURCES = """\
# TYPE kube_pod_resource_request gauge
kube_pod_resource_request{namespace="default",pod="p",node="n1",resource="cpu",unit="cores"} 0.2
kube_pod_resource_request{namespace="default",pod="q",node="n1",resource="cpu",unit="cores"} 0.3
kube_pod_resource_request{namespace="default",pod="q",node="n1",resource="memory",unit="bytes"} 1024
kube_pod_resource_request{namespace="default",pod="r",node="",resource="cpu",unit="cores"} 2
"""


def test_what_pods_ask_for_is_what_the_api_server_has() -> None:
    assert list(doubts_about_resources(Scrape(RESOURCES), TRUTH)) == []
    assert list(doubts_about_resources(Scrape(""), STANDBY)) == []
    assert len(list(doubts_about_resources(Scrape(RESOURCES), STANDBY))) == 3


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ("} 0.3", "} 0.4", "kube_pod_resource_request of cpu on n1 is 0.6, and should be 0.5"),
        ("} 2\n", "} 1\n", "kube_pod_resource_request of cpu on no node is 1, and should be 2"),
        ("# TYPE", "more 1\n# TYPE", "more is on /metrics/resources, and nobody judges it"),
    ],
)
def test_requests_that_no_pod_has_are_reported(before: str, now: str, words: str) -> None:
    assert list(doubts_about_resources(Scrape(RESOURCES.replace(before, now)), TRUTH)) == [words]
