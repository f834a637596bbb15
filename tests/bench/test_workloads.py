"""The files of workloads, and what is refused in one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import workloads
from bench.workloads import CASES, Workload, WorkloadError, load, select

FULL_CASES = {
    "SchedulingBasic",
    "TopologySpreading",
    "SchedulingPodAntiAffinity",
    "SchedulingPodAffinity",
    "SchedulingPreferredPodAffinity",
    "MixedSchedulingBasePod",
    "Unschedulable",
    "SchedulingDaemonset",
    "PreemptionBasic",
}


def names(selected: list[Workload]) -> set[str]:
    return {workload.name for workload in selected}


@pytest.mark.parametrize("nodes", [1000, 5000])
def test_the_full_selection_has_every_family_at_both_sizes(nodes: int) -> None:
    selected = [workload for workload in load() if "full" in workload.labels]
    assert {workload.case for workload in selected if workload.nodes == nodes} == FULL_CASES


def test_every_case_has_a_size_of_seconds() -> None:
    smoke = [workload for workload in load() if "smoke" in workload.labels]
    assert {workload.case for workload in smoke} == {workload.case for workload in load()}
    assert max(workload.pods for workload in smoke) <= 300


def test_default_runs_are_long_enough_for_samples() -> None:
    selected = select(load(), label="default", cases=[], nodes=[])
    assert all(workload.count(workload.steps[-1]) >= 2000 for workload in selected)  # type: ignore[arg-type]  # checked by load


def test_pods_of_anti_affinity_never_outnumber_the_nodes() -> None:
    for workload in load():
        if workload.case == "SchedulingPodAntiAffinity":
            assert workload.pods <= workload.nodes


def test_no_workload_is_there_twice() -> None:
    assert Counter(workload.name for workload in load()).most_common(1)[0][1] == 1


def test_a_size_selected_by_name_needs_no_label() -> None:
    assert names(select(load(), label="default", cases=["SchedulingDaemonset/15000Nodes"], nodes=[])) == {
        "SchedulingDaemonset/15000Nodes"
    }


def test_a_case_is_selected_within_the_label() -> None:
    selected = select(load(), label="smoke", cases=["Unschedulable"], nodes=[])
    assert names(selected) == {"Unschedulable/100Nodes"}


def test_a_workload_nobody_knows_is_named_with_those_there_are() -> None:
    with pytest.raises(WorkloadError, match=r"no workload SchedulingBsic; there are .*SchedulingBasic"):
        select(load(), label="", cases=["SchedulingBsic"], nodes=[])


def test_a_selection_of_nothing_is_refused() -> None:
    with pytest.raises(WorkloadError, match="no workload is left"):
        select(load(), label="default", cases=["Unschedulable"], nodes=[7])


def case(**changes: Any) -> dict[str, Any]:
    """A case that can be run, with ``changes``."""
    return {
        "name": "Small",
        "defaultPodTemplatePath": "pod.yaml",
        "workloadTemplate": [{"opcode": "createPods", "countParam": "$pods", "collectMetrics": True}],
        "workloads": [{"name": "one", "labels": [], "params": {"pods": 1}}],
        **changes,
    }


MEASURED = {"opcode": "createPods", "countParam": "$pods", "collectMetrics": True}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"workloadTemplate": [{"opcode": "dance"}, MEASURED]}, "dance", id="unknown-operation"),
        pytest.param({"workloadTemplate": [{**MEASURED, "cuont": 1}]}, "cuont", id="unknown-field"),
        pytest.param({"workloadTemplate": [{"opcode": "churn", "templatePaths": [], "mode": "recreate",
                                            "intervalMilliseconds": 1}, MEASURED]}, "recreate", id="unknown-mode"),
        pytest.param({"workloadTemplate": [MEASURED, {"opcode": "barrier"}]}, "last step", id="measured-is-not-last"),
        pytest.param({"workloadTemplate": [MEASURED, MEASURED]}, "last step", id="measured-twice"),
        pytest.param({"workloads": [{"name": "one", "labels": [], "params": {}}]}, "agree on pods", id="no-count"),
        pytest.param({"defaultPodTemplatePath": ""}, "needs podTemplatePath", id="no-template"),
        pytest.param({"defaultPodTemplatePath": "gone.yaml"}, "no template gone.yaml", id="template-not-there"),
        pytest.param({"workloadTemplate": [{**MEASURED, "skipWaitToCompletion": True}]}, "waited for", id="no-wait"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_run_is_refused_with_what_is_wrong(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    (tmp_path / "pod.yaml").write_text("{kind: Pod, metadata: {}}")
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump([case()]))
    assert load(file)
    file.write_text(yaml.safe_dump([case(**changes)]))
    with pytest.raises(WorkloadError, match=why):
        load(file)


def test_every_template_is_used_by_a_case() -> None:
    there = {path.relative_to(CASES.parent).as_posix() for path in CASES.parent.glob("templates/*.yaml")}
    assert there == {path for workload in workloads.load() for path in workload.templates}
