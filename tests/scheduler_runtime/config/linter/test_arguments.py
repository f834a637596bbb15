"""Arguments that nothing reads, and arguments that say nothing."""

from __future__ import annotations

import pytest

from tests.support.linting import args, places

OFF = "preScore: {disabled: [{name: %s}]}, score: {disabled: [{name: %s}]}"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = "{matchExpressions: [{key: a, operator: Exists}]}"
SHAPE = "scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [%s]}}"
SPREAD = "defaultingType: List, defaultConstraints: [{topologyKey: %s, maxSkew: 1, whenUnsatisfiable: %s%s}]"
ROWS = {
    "unknown": (args("NodeResourceFit", "a: 1"), ["UnknownPluginConfigured pluginConfig[0].name"]),
    "unknown-without-args": (
        "profiles: [{pluginConfig: [{name: Nothing}]}]",
        ["UnknownPluginConfigured pluginConfig[0].name"],
    ),
    "removed": (args("SelectorSpread", "a: 1"), ["RemovedPlugin pluginConfig[0].name"]),
    "not-taken": (args("NodeName", "a: 1"), ["ArgsNotTaken pluginConfig[0].args"]),
    "header-only": (args("NodeName", "kind: NodeNameArgs"), []),
    "off": (
        args("InterPodAffinity", "{}", "multiPoint: {disabled: [{name: InterPodAffinity}]}").replace("{{}}", "{}"),
        ["FilterRemoved plugins.multiPoint.disabled[0]", "DisabledButConfigured pluginConfig[0]"],
    ),
    "weight-without-score": (
        args("InterPodAffinity", "hardPodAffinityWeight: 5", OFF.replace("%s", "InterPodAffinity")),
        ["ArgsIgnored pluginConfig[0].args.hardPodAffinityWeight"],
    ),
    "preferred-without-score": (
        args(
            "NodeAffinity",
            f"addedAffinity: {{{PREFERRED}: [{{weight: 1, preference: {TERM}}}]}}",
            OFF.replace("%s", "NodeAffinity"),
        ),
        [f"ArgsIgnored pluginConfig[0].args.addedAffinity.{PREFERRED}"],
    ),
    "preferred-with-score": (
        args("NodeAffinity", f"addedAffinity: {{{PREFERRED}: [{{weight: 1, preference: {TERM}}}]}}"),
        [],
    ),
    "preferred-without-weight": (
        args("NodeAffinity", f"addedAffinity: {{{PREFERRED}: [{{preference: {TERM}}}]}}"),
        [f"PreferenceIgnored pluginConfig[0].args.addedAffinity.{PREFERRED}[0].weight"],
    ),
    "preferred-without-condition": (
        args("NodeAffinity", f"addedAffinity: {{{PREFERRED}: [{{weight: 1, preference: {{}}}}]}}"),
        [f"PreferenceIgnored pluginConfig[0].args.addedAffinity.{PREFERRED}[0].preference"],
    ),
    "flat": (
        args("NodeResourcesFit", SHAPE % "{utilization: 0, score: 5}, {utilization: 50, score: 5}"),
        ["FlatShape pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape"],
    ),
    "falling": (args("NodeResourcesFit", SHAPE % "{utilization: 0, score: 5}, {utilization: 50, score: 4}"), []),
    "one-resource": (
        args("NodeResourcesBalancedAllocation", "resources: [{name: memory}]"),
        ["BalanceOfOne pluginConfig[0].args.resources"],
    ),
    "one-resource-unscored": (
        args(
            "NodeResourcesBalancedAllocation",
            "resources: [{name: memory}]",
            OFF.replace("%s", "NodeResourcesBalancedAllocation"),
        ),
        ["DisabledButConfigured pluginConfig[0]"],
    ),
    "resource-without-domain": (
        args("NodeResourcesBalancedAllocation", "resources: [{name: cpu}, {name: gpu}]"),
        ["UnknownResource pluginConfig[0].args.resources[1].name"],
    ),
    "resources-that-nodes-have": (
        args("NodeResourcesBalancedAllocation", "resources: [{name: hugepages-2Mi}, {name: example.com/gpu}]"),
        [],
    ),
    "preferred-negatively": (
        args("NodeAffinity", f"addedAffinity: {{{PREFERRED}: [{{weight: -1, preference: {TERM}}}]}}"),
        [f"NegativeWeight pluginConfig[0].args.addedAffinity.{PREFERRED}[0].weight"],
    ),
    "native-resource": (
        args("NodeResourcesFit", "ignoredResources: [example.com/foo, memory]"),
        ["IgnoredResourceCounts pluginConfig[0].args.ignoredResources[1]"],
    ),
    "no-time": (
        args("VolumeBinding", "bindTimeoutSeconds: 0"),
        ["NoTimeToBind pluginConfig[0].args.bindTimeoutSeconds"],
    ),
    "too-much-time": (
        args("VolumeBinding", "bindTimeoutSeconds: 9223372037"),
        ["NoTimeToBind pluginConfig[0].args.bindTimeoutSeconds"],
    ),
    "some-time": (args("VolumeBinding", "bindTimeoutSeconds: 9223372036"), []),
    "policy": (
        args("PodTopologySpread", SPREAD % ("zone", "ScheduleAnyway", ", nodeTaintsPolicy: honor")),
        ["SpreadFieldIgnored pluginConfig[0].args.defaultConstraints[0].nodeTaintsPolicy"],
    ),
    "known-policy": (args("PodTopologySpread", SPREAD % ("zone", "ScheduleAnyway", ", nodeTaintsPolicy: Honor")), []),
    "domains": (
        args("PodTopologySpread", SPREAD % ("zone", "DoNotSchedule", ", minDomains: 0")),
        ["SpreadFieldIgnored pluginConfig[0].args.defaultConstraints[0].minDomains"],
    ),
    "old-label": (
        args("PodTopologySpread", SPREAD % ("failure-domain.beta.kubernetes.io/region", "DoNotSchedule", "")),
        ["DeprecatedField pluginConfig[0].args.defaultConstraints[0].topologyKey"],
    ),
    "label": (args("PodTopologySpread", SPREAD % ("topology.kubernetes.io/region", "DoNotSchedule", "")), []),
}


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_arguments(text: str, expected: list[str]) -> None:
    assert places(text) == expected


def test_a_shape_beside_another_strategy_is_ignored_where_it_is_accepted() -> None:
    ratio = "requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}"
    text = args("NodeResourcesFit", f"scoringStrategy: {{type: LeastAllocated, {ratio}}}")
    assert places(text, "1.35") == ["ArgsIgnored pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio"]
