"""Arguments that nothing reads, and arguments that say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler_runtime import catalog
from scheduler_runtime.catalog import REMOVED_PLUGINS
from scheduler_runtime.catalog.args import (
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ResourceSpec,
    VolumeBindingArgs,
)
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest
from scheduler_runtime.catalog.syntax import is_extended_resource, is_scalar_resource
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import EffectiveInput, ProfileInput
from scheduler_runtime.config.linter.names import lives_in
from scheduler_runtime.config.linter.suggested_fixes import Fix, either, enabling

_BALANCE = "NodeResourcesBalancedAllocation"
_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})
_LONGEST_SECONDS = (2**63 - 1) // 10**9


@check(
    Code(
        "DisabledButConfigured",
        Severity.WARNING,
        "A plugin has arguments but is enabled nowhere, so nothing ever reads them.",
        "Enable the plugin, or remove its entry from pluginConfig.",
    )
)
def disabled_but_configured(meaning: EffectiveInput) -> Iterator[Match]:
    for index, entry in enumerate(meaning.written.profile.plugin_config):
        points = meaning.written.points(entry.name)
        if points and entry.name not in meaning.enabled.names:
            yield Match(
                f"pluginConfig[{index}]",
                f"{entry.name} is enabled at no extension point, so these arguments are never read",
                _either(enabling(meaning.written, entry.name, points), "remove this entry"),
            )


@check(
    Code(
        "UnknownPluginConfigured",
        Severity.ERROR,
        "There are arguments for a plugin that does not exist; kube-scheduler starts and never reads them.",
        "Write the name of the plugin that is meant, in its exact spelling.",
    )
)
def unknown_plugin_configured(written: ProfileInput) -> Iterator[Match]:
    target = written.whole.target.version
    for index, entry in enumerate(written.profile.plugin_config):
        elsewhere = entry.name in REMOVED_PLUGINS or lives_in(entry.name, target)
        if not written.points(entry.name) and not elsewhere:
            near = catalog.similar_plugins(entry.name)
            message = f"there is no plugin {entry.name!r}, so these arguments are never read{did_you_mean(near)}"
            name = next((name for name in near if _can_be_called(written, index, name)), "")
            yield Match(f"pluginConfig[{index}].name", message, f"name: {name}" if name else "remove this entry")


def _can_be_called(written: ProfileInput, index: int, name: str) -> bool:
    """Whether the entry of pluginConfig at ``index`` can be meant for the plugin called ``name``."""
    entries = list(written.profile.plugin_config)
    if any(entry.name == name for entry in entries) or not written.points(name):
        return False
    entries[index] = entries[index].model_copy(update={"name": name})
    profile = written.profile.model_copy(update={"plugin_config": tuple(entries)})
    takes = name in catalog.IN_TREE_ARGS or name not in written.defaults.extends or not entries[index].args
    return takes and ProfileInput(profile, written.whole).meaning is not None


@check(
    Code(
        "ArgsNotTaken",
        Severity.ERROR,
        "There are arguments for a plugin that takes none; kube-scheduler starts and never reads them.",
        "Remove the entry from pluginConfig.",
    )
)
def args_not_taken(written: ProfileInput) -> Iterator[Match]:
    for index, entry in enumerate(written.profile.plugin_config):
        in_tree = entry.name in written.defaults.extends
        given = [field for field in entry.args if field not in ("apiVersion", "kind")]
        if in_tree and entry.name not in catalog.IN_TREE_ARGS and given:
            message = f"{entry.name} takes no arguments, so {', '.join(given)} says nothing"
            yield Match(f"pluginConfig[{index}].args", message, "remove this entry")


@dataclass(frozen=True, slots=True)
class Reader:
    """Which point reads a field of a plugin's arguments."""

    plugin: str
    field: str
    point: str


_READERS = (
    Reader("DefaultPreemption", "minCandidateNodesAbsolute", "postFilter"),
    Reader("DefaultPreemption", "minCandidateNodesPercentage", "postFilter"),
    Reader("DynamicResources", "bindingTimeout", "preBind"),
    Reader("DynamicResources", "filterTimeout", "filter"),
    Reader("InterPodAffinity", "hardPodAffinityWeight", "score"),
    Reader("InterPodAffinity", "ignorePreferredTermsOfExistingPods", "score"),
    Reader("NodeAffinity", "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution", "score"),
    Reader("NodeAffinity", "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution", "filter"),
    Reader("NodeResourcesBalancedAllocation", "resources", "score"),
    Reader("NodeResourcesFit", "ignoredResourceGroups", "filter"),
    Reader("NodeResourcesFit", "ignoredResources", "filter"),
    Reader("NodeResourcesFit", "scoringStrategy", "score"),
    Reader("VolumeBinding", "bindTimeoutSeconds", "preBind"),
    Reader("VolumeBinding", "shape", "score"),
)


@check(
    Code(
        "ArgsIgnored",
        Severity.WARNING,
        "An argument is meant for an extension point at which its plugin does not run.",
        "Enable the plugin at that point, or remove the argument.",
    )
)
def args_ignored(meaning: EffectiveInput) -> Iterator[Match]:
    for reader in _READERS:
        path, args = meaning.entry(reader.plugin)
        runs = reader.plugin in meaning.running.names
        if runs and not meaning.has(reader.plugin, reader.point) and _has(args, reader.field):
            message = f"{reader.plugin} reads this at {reader.point}, where it does not run"
            fix = enabling(meaning.written, reader.plugin, (reader.point,))
            yield Match(f"{path}.{reader.field}", message, _either(fix, "remove this line"))


def _either(mend: Fix | None, removal: str) -> str:
    """Both ways to mend arguments that nobody reads."""
    return ", or ".join(filter(None, (either(mend), removal)))


@check(args_ignored.code)
def ratio_ignored(meaning: EffectiveInput) -> Iterator[Match]:
    path, args = meaning.entry("NodeResourcesFit")
    strategy = args.get("scoringStrategy")
    kind = strategy.get("type") if isinstance(strategy, dict) else None
    if kind != "RequestedToCapacityRatio" and _has(args, "scoringStrategy.requestedToCapacityRatio"):
        message = f"a strategy of type {kind or 'LeastAllocated'} has no use for a shape"
        fix = "scoringStrategy: {type: RequestedToCapacityRatio}, or remove this line"
        yield Match(f"{path}.scoringStrategy.requestedToCapacityRatio", message, fix)


def _has(args: Any, field: str) -> bool:
    """Whether a field, given as a path, is written in ``args``."""
    for name in field.split("."):
        if not isinstance(args, dict) or not args.get(name):
            return False
        args = args[name]
    return True


@check(
    Code(
        "FlatShape",
        Severity.WARNING,
        "A shape gives every utilization the same score, so it prefers no node to another.",
        "Let the scores rise to fill nodes, or fall to spread over them.",
    )
)
def flat_shape(meaning: EffectiveInput) -> Iterator[Match]:
    for path, scores in _shapes(meaning):
        if len(set(scores)) == 1:
            yield Match(
                path,
                f"every point scores {scores[0]}, so all nodes are equal to it",
                "shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]",
            )


def _shapes(meaning: EffectiveInput) -> Iterator[tuple[str, list[int]]]:
    """The shapes that score, each with its path and its scores."""
    fit, volumes = meaning.args("NodeResourcesFit"), meaning.args("VolumeBinding")
    if isinstance(fit, NodeResourcesFitArgs) and meaning.has("NodeResourcesFit", "score"):
        ratio = fit.scoring_strategy.requested_to_capacity_ratio
        if ratio is not None:
            path = f"{meaning.entry('NodeResourcesFit')[0]}.scoringStrategy.requestedToCapacityRatio.shape"
            yield path, [point.score for point in ratio.shape]
    if isinstance(volumes, VolumeBindingArgs) and volumes.shape and meaning.has("VolumeBinding", "score"):
        yield f"{meaning.entry('VolumeBinding')[0]}.shape", [point.score for point in volumes.shape]


@check(
    Code(
        "BalanceOfOne",
        Severity.WARNING,
        "Balance is measured between resources; NodeResourcesBalancedAllocation with one resource scores all alike.",
        "Name at least two resources, or disable the plugin at score.",
    )
)
def balance_of_one(meaning: EffectiveInput) -> Iterator[Match]:
    args = meaning.args(_BALANCE)
    if not isinstance(args, NodeResourcesBalancedAllocationArgs) or len(args.resources) != 1:
        return
    if meaning.has(_BALANCE, "score"):
        only = args.resources[0].name
        yield Match(
            f"{meaning.entry(_BALANCE)[0]}.resources",
            f"{only} alone is always in balance, so every node gets the same score",
            "resources: [{name: cpu}, {name: memory}]",
        )


@check(
    Code(
        "UnknownResource",
        Severity.WARNING,
        "A score is to look at a resource that no node can have, so it looks past it.",
        "Write cpu, memory, ephemeral-storage, or an extended resource with its domain, such as example.com/gpu.",
    )
)
def unknown_resource(meaning: EffectiveInput) -> Iterator[Match]:
    for path, resources in _scored(meaning):
        for index, resource in enumerate(resources):
            if resource.name not in _NATIVE and not is_scalar_resource(resource.name):
                message = f"no node offers {resource.name!r}, so it counts for nothing"
                free = _NATIVE - {each.name for each in resources}
                near = nearest(resource.name.lower(), sorted(free))
                fix = f"name: {near[0]}" if near else "remove this entry"
                yield Match(f"{path}[{index}].name", message, fix)


def _scored(meaning: EffectiveInput) -> Iterator[tuple[str, Sequence[ResourceSpec]]]:
    """The resources that are scored, each list with its path."""
    for plugin, field in (("NodeResourcesFit", "scoringStrategy.resources"), (_BALANCE, "resources")):
        args, path = meaning.args(plugin), f"{meaning.entry(plugin)[0]}.{field}"
        if not meaning.has(plugin, "score"):
            continue
        if isinstance(args, NodeResourcesFitArgs):
            yield path, args.scoring_strategy.resources
        elif isinstance(args, NodeResourcesBalancedAllocationArgs):
            yield path, args.resources


@check(
    Code(
        "IgnoredResourceCounts",
        Severity.WARNING,
        "NodeResourcesFit is told to ignore a resource of Kubernetes itself, which it never does.",
        "Remove the name; only extended resources such as example.com/gpu can be ignored.",
    )
)
def ignored_resource_counts(meaning: EffectiveInput) -> Iterator[Match]:
    args = meaning.args("NodeResourcesFit")
    if not isinstance(args, NodeResourcesFitArgs) or not meaning.has("NodeResourcesFit", "filter"):
        return
    path = meaning.entry("NodeResourcesFit")[0]
    for index, name in enumerate(args.ignored_resources):
        if not is_extended_resource(name):
            message = f"{name} is no extended resource, so pods need room for it all the same"
            yield Match(f"{path}.ignoredResources[{index}]", message, "remove this entry")


@check(
    Code(
        "PreferenceIgnored",
        Severity.WARNING,
        "A preferred term of addedAffinity has weight 0 or no condition, so it prefers nothing.",
        "Give the term a weight from 1 to 100 and at least one condition.",
    )
)
def preference_ignored(meaning: EffectiveInput) -> Iterator[Match]:
    args = meaning.args("NodeAffinity")
    if not isinstance(args, NodeAffinityArgs) or args.added_affinity is None:
        return
    field = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(args.added_affinity.preferred_during_scheduling_ignored_during_execution):
        path = f"{meaning.entry('NodeAffinity')[0]}.{field}[{index}]"
        if not term.preference.match_expressions and not term.preference.match_fields:
            yield Match(f"{path}.preference", "a term without conditions prefers no node", "remove this entry")
        elif term.weight == 0:
            yield Match(f"{path}.weight", "a term of weight 0 is passed over", "weight: 1")


@check(
    Code(
        "NoTimeToBind",
        Severity.ERROR,
        "VolumeBinding may wait no time for volumes, so every pod that needs one bound fails.",
        "Leave bindTimeoutSeconds out for ten minutes, or give it the seconds that provisioning takes.",
    )
)
def no_time_to_bind(meaning: EffectiveInput) -> Iterator[Match]:
    args = meaning.args("VolumeBinding")
    if not isinstance(args, VolumeBindingArgs) or not meaning.has("VolumeBinding", "preBind"):
        return
    seconds = args.bind_timeout_seconds
    if seconds == 0 or seconds > _LONGEST_SECONDS:
        how = "is no time at all" if seconds == 0 else "is more than a duration holds, and becomes less than none"
        yield Match(
            f"{meaning.entry('VolumeBinding')[0]}.bindTimeoutSeconds",
            f"{seconds} {how}: a pod whose volumes are not bound yet fails the moment it asks",
            "bindTimeoutSeconds: 600",
        )
