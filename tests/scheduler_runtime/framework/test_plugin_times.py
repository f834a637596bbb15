"""Durations of extension points and plugins, and how often plugins run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scheduler_runtime import testing
from scheduler_runtime.api import Cycle, NodeTable, Plugin, Pod, Reject
from scheduler_runtime.framework import (
    ExtenderAnswers,
    FilterAnswer,
    FilterQuestion,
    Framework,
    PluginError,
    PluginServices,
    ScoreQuestion,
)
from scheduler_runtime.framework.hook import SAMPLED_EVERY
from scheduler_runtime.scheduling.metrics import Metrics

POINT = "scheduler_framework_extension_point_duration_seconds_count"
PLUGIN = "scheduler_plugin_execution_duration_seconds_count"
EVALUATIONS = "scheduler_plugin_evaluation_total"


PROFILE = {"plugins": {"multiPoint": {"enabled": [{"name": "Choosy"}]}}}
NAMED = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}]
        }
    }
}


class Choosy(Plugin):
    """Rejects pods called no, and fails for pods called bad."""

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        if pod.name == "bad":
            raise ValueError("bad")
        return Reject(True, "no", resolvable=False) if pod.name == "no" else None


Decide = Callable[[Framework, Pod, testing.Cluster], object]


def alone(framework: Framework, pod: Pod, cluster: testing.Cluster) -> object:
    return framework.schedule(pod, cluster)


def with_extenders(framework: Framework, pod: Pod, cluster: testing.Cluster) -> object:
    """Decide with extenders that let every node through."""
    question = framework.schedule(pod, cluster, ExtenderAnswers())
    assert isinstance(question, FilterQuestion)
    answers = ExtenderAnswers(filtered=FilterAnswer(question, frozenset(question.nodes)), rounds=1)
    assert isinstance(framework.schedule(pod, cluster, answers), ScoreQuestion)
    return framework.schedule(pod, cluster, replace(answers, scores={}))


def measured(*pods: str, nodes: int = 3, decide: Decide = alone, **spec: Any) -> dict[str, int]:
    """Return the samples, by name and labels, after one profile has decided about ``pods``."""
    metrics = Metrics()
    services = PluginServices(None, lambda *_: None, lambda _: None, testing.Objects(), metrics=metrics)  # type: ignore[arg-type]
    cluster = testing.Cluster(*(testing.node(f"n{number}") for number in range(nodes)))
    framework = testing.framework(PROFILE, Choosy, services=services)
    for pod in pods:
        try:
            decide(framework, testing.pod(pod, {"cpu": "10m"}, **spec), cluster)
        except PluginError:
            continue
    lines = (line.rsplit(" ", 1) for line in metrics.text().splitlines() if not line.startswith("#"))
    return Counter({sample: int(float(number)) for sample, number in lines if "_bucket" not in sample})


def point(name: str, status: str = "Success") -> str:
    return f'{POINT}{{extension_point="{name}",status="{status}",profile="test"}}'


def test_a_point_is_measured_once_per_decision() -> None:
    samples = measured("a", "b", "c")
    assert [samples[point(name)] for name in ("PreFilter", "Filter", "PreScore", "Score")] == [3, 3, 3, 3]
    assert not any("Reserve" in name or "Permit" in name for name in samples)  # no plugin is there


def test_a_single_feasible_node_is_not_scored() -> None:
    samples = measured("a", nodes=1)
    assert (samples[point("Filter")], samples[point("Score")]) == (1, 0)


def test_filters_for_one_node_are_measured_like_others() -> None:
    samples = measured(*(f"p{number}" for number in range(SAMPLED_EVERY)), affinity=NAMED)
    assert (
        samples[f'{EVALUATIONS}{{plugin="NodeResourcesFit",extension_point="Filter",profile="test"}}'] == SAMPLED_EVERY
    )
    assert samples[f'{PLUGIN}{{plugin="NodeResourcesFit",extension_point="Filter",status="Success"}}'] == 1


def test_a_pod_that_is_rejected_as_a_whole_ends_the_point_with_that_status() -> None:
    samples = measured("no")
    assert samples[point("PreFilter", "UnschedulableAndUnresolvable")] == 1
    assert samples[point("Filter")] == 0
    assert samples[point("PostFilter", "Unschedulable")] == 1


def test_plugins_are_measured_in_one_decision_of_ten_and_counted_in_all() -> None:
    samples = measured(*(f"p{number}" for number in range(2 * SAMPLED_EVERY)))
    assert samples[f'{PLUGIN}{{plugin="Choosy",extension_point="PreFilter",status="Success"}}'] == 2
    assert samples[f'{EVALUATIONS}{{plugin="Choosy",extension_point="PreFilter",profile="test"}}'] == 2 * SAMPLED_EVERY


def test_pods_that_extenders_look_after_are_measured_like_others() -> None:
    samples = measured(*(f"p{number}" for number in range(2 * SAMPLED_EVERY)), decide=with_extenders)
    assert samples[point("Score")] == 2 * SAMPLED_EVERY
    assert samples[f'{PLUGIN}{{plugin="NodeResourcesFit",extension_point="Score",status="Success"}}'] == 2


def test_a_plugin_that_skips_or_fails_is_measured_with_that_status() -> None:
    samples = measured(*(f"p{number}" for number in range(SAMPLED_EVERY - 1)), "bad")
    assert samples[f'{PLUGIN}{{plugin="Choosy",extension_point="PreFilter",status="Error"}}'] == 1
    samples = measured(*(f"p{number}" for number in range(SAMPLED_EVERY)))
    assert samples[f'{PLUGIN}{{plugin="PodTopologySpread",extension_point="PreFilter",status="Skip"}}'] == 1
