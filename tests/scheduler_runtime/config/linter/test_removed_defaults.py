"""Findings about removed default plugins, and about names that name nothing."""

from __future__ import annotations

import pytest

from scheduler_runtime.catalog import Declaration
from scheduler_runtime.config.linter.removed_defaults import LOST
from tests.support.linting import args, lint, places, plugins

OWN = {
    "Rooms": Declaration(name="Rooms", hooks=("filter", "signature")),
    "Evicts": Declaration(name="Evicts", hooks=("post_filter",)),
    "Binds": Declaration(name="Binds", hooks=("bind",)),
    "Sorts": Declaration(name="Sorts", hooks=("sort_key",)),
    "Unsigned": Declaration(name="Unsigned", hooks=("pre_score", "score")),
}
ROWS = {
    "preemption-by-name": (
        "postFilter: {disabled: [{name: DefaultPreemption}]}",
        ["PreemptionRemoved plugins.postFilter.disabled[0]"],
    ),
    "preemption-of-another": (
        "postFilter: {disabled: [{name: DefaultPreemption}], enabled: [{name: Evicts}]}",
        [],
    ),
    "not-awaited": (
        "preEnqueue: {disabled: [{name: DefaultPreemption}]}",
        ["PreemptionNotAwaited plugins.preEnqueue.disabled[0]"],
    ),
    "claims": (
        "postFilter: {disabled: [{name: DynamicResources}]}",
        ["ClaimsNotReleased plugins.postFilter.disabled[0]"],
    ),
    "gates": ("preEnqueue: {disabled: [{name: SchedulingGates}]}", ["GatesIgnored plugins.preEnqueue.disabled[0]"]),
    "spread": (
        "score: {disabled: [{name: PodTopologySpread}]}, preScore: {disabled: [{name: PodTopologySpread}]}",
        ["DefaultSpreadDisabled plugins.score.disabled[0]"],
    ),
    "an-own-filter-may-do-it": (
        "multiPoint: {disabled: [{name: NodeResourcesFit}]}, filter: {enabled: [{name: Rooms}]}",
        [],
    ),
    "misspelt": ("score: {disabled: [{name: nodeaffinity}]}", ["DisabledNothing plugins.score.disabled[0]"]),
    "not-there": ("score: {disabled: [{name: NodeName}]}", ["DisabledNothing plugins.score.disabled[0]"]),
    "no-default": ("permit: {disabled: [{name: GangScheduling}]}", ["DisabledNothing plugins.permit.disabled[0]"]),
    "everything": ("permit: {disabled: [{name: '*'}]}", []),
    "gone": ("filter: {disabled: [{name: EBSLimits}]}", ["RemovedPlugin plugins.filter.disabled[0]"]),
    "gone-from-multi-point": (
        "multiPoint: {disabled: [{name: ServiceAffinity}]}",
        ["RemovedPlugin plugins.multiPoint.disabled[0]"],
    ),
    "later": (
        "permit: {disabled: [{name: DeferredPodScheduling}]}",
        ["UnknownPluginForVersion plugins.permit.disabled[0]"],
    ),
    "binder-behind": ("bind: {enabled: [{name: Binds}]}", ["BinderNeverReached plugins.bind.enabled[0]"]),
    "binder-by-multi-point": (
        "multiPoint: {enabled: [{name: Binds}]}",
        ["BinderNeverReached plugins.multiPoint.enabled[0]"],
    ),
    "binder-before": ("bind: {disabled: [{name: '*'}], enabled: [{name: Binds}, {name: DefaultBinder}]}", []),
    "two-sorts": ("queueSort: {enabled: [{name: Sorts}]}", ["TwoQueueSorts plugins.queueSort"]),
    "one-sort": ("queueSort: {disabled: [{name: PrioritySort}], enabled: [{name: Sorts}]}", []),
    "no-bind": ("bind: {disabled: [{name: '*'}]}", ["NoBind plugins.bind"]),
    "unsigned": (
        "score: {enabled: [{name: Unsigned, weight: 2}]}, preScore: {enabled: [{name: Unsigned}]}",
        ["BatchingDisabledByPlugin plugins.preScore.enabled[0]"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_removals(text: str, expected: list[str]) -> None:
    assert places(plugins(text), others=OWN) == expected


@pytest.mark.parametrize("name", LOST)
def test_a_missing_filter_is_reported_with_its_consequence(name: str) -> None:
    findings = [
        finding
        for finding in lint(plugins(f"multiPoint: {{disabled: [{{name: {name}}}]}}"))
        if finding.code == "FilterRemoved"
    ]
    assert [finding.message for finding in findings] == [f"without {name} {LOST[name]}"]
    assert [finding.path for finding in findings] == ["profiles[0].plugins.multiPoint.disabled[0]"]


def test_filters_that_one_entry_disables_are_reported_together() -> None:
    keep = "{name: NodeResourcesFit}, {name: PrioritySort}, {name: DefaultBinder}, {name: SchedulingGates}"
    findings = lint(plugins(f"multiPoint: {{disabled: [{{name: '*'}}], enabled: [{keep}]}}"))
    (removed,) = (finding for finding in findings if finding.code == "FilterRemoved")
    assert removed.message.startswith("11 of 12 default filters do not run")
    assert all(name in removed.message for name in LOST if name != "NodeResourcesFit")


def test_a_few_filters_that_one_entry_disables_are_reported_one_by_one() -> None:
    keep = ", ".join(f"{{name: {name}}}" for name in LOST if name not in ("NodePorts", "VolumeZone"))
    off = "preFilter: {disabled: [{name: NodePorts}, {name: VolumeZone}]}"
    findings = lint(plugins(f"filter: {{disabled: [{{name: '*'}}], enabled: [{keep}]}}, {off}"))
    removed = [finding for finding in findings if finding.code == "FilterRemoved"]
    assert [finding.message.split()[1] for finding in removed] == ["NodePorts", "VolumeZone"]
    assert {finding.path for finding in removed} == {"profiles[0].plugins.filter.disabled[0]"}


@pytest.mark.parametrize("text", ["filter: {disabled: [{name: '*'}]}, preFilter: {disabled: [{name: '*'}]}"])
def test_no_filter_at_all_is_one_finding_of_its_kind(text: str) -> None:
    codes = [finding.code for finding in lint(plugins(text))]
    assert codes.count("NoFilterLeft") == 1
    assert "FilterRemoved" not in codes


def test_queues_that_sort_differently_are_reported_for_every_profile() -> None:
    other = "plugins: {queueSort: {disabled: [{name: '*'}], enabled: [{name: Sorts}]}}"
    text = f"profiles: [{{schedulerName: default-scheduler}}, {{schedulerName: b, {other}}}, {{schedulerName: c}}]"
    assert places(text, others=OWN) == ["QueueSortMismatch profiles[1].plugins.queueSort"]


def test_no_list_of_default_constraints_spreads_nothing() -> None:
    assert places(args("PodTopologySpread", "defaultingType: List")) == [
        "DefaultSpreadDisabled pluginConfig[0].args.defaultingType"
    ]
    assert places(args("PodTopologySpread", "defaultingType: System")) == []
