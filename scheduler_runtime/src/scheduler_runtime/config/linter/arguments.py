"""Arguments that no plugin reads, and arguments that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scheduler_runtime import catalog
from scheduler_runtime.catalog import REMOVED_PLUGINS
from scheduler_runtime.catalog.args import (
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    VolumeBindingArgs,
)
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest
from scheduler_runtime.catalog.syntax import is_extended_resource, is_scalar_resource
from scheduler_runtime.config.linter.availability import other_version_with
from scheduler_runtime.config.linter.checks import Match, Severity, check, check_of
from scheduler_runtime.config.linter.inputs import EffectiveInput, ProfileInput
from scheduler_runtime.config.linter.suggested_fixes import either, enabling

_FIT, _BALANCE = "NodeResourcesFit", "NodeResourcesBalancedAllocation"
_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})
_LONGEST_SECONDS = (2**63 - 1) // 10**9
"""Go holds a duration as nanoseconds in an int64; more seconds than that overflow and become negative."""


@check("DisabledButConfigured", Severity.WARNING)
def disabled_but_configured(effective: EffectiveInput) -> Iterator[Match]:
    """A plugin has arguments but is enabled nowhere, so the arguments have no effect.

    Enable the plugin, or remove its entry from pluginConfig.
    """
    profile = effective.profile
    for index, entry in enumerate(profile.fields.plugin_config):
        points = profile.points_of(entry.name)
        if points and entry.name not in effective.enabled.names:
            yield Match(
                f"pluginConfig[{index}]",
                f"{entry.name} is enabled at no extension point, so these arguments are never read",
                either(enabling(profile, entry.name, points), "remove this entry"),
            )


@check("UnknownPluginConfigured", Severity.ERROR)
def unknown_plugin_configured(profile: ProfileInput) -> Iterator[Match]:
    """There are arguments for a plugin that does not exist; kube-scheduler starts and never reads them.

    Write the exact name of the plugin.
    """
    version = profile.document.target.version
    for index, entry in enumerate(profile.fields.plugin_config):
        existed = entry.name in REMOVED_PLUGINS or other_version_with(entry.name, version)
        if not profile.points_of(entry.name) and not existed:
            similar = catalog.similar_plugins(entry.name)
            message = f"there is no plugin {entry.name!r}, so these arguments are never read{did_you_mean(similar)}"
            name = next((name for name in similar if _accepts_entry(profile, index, name)), "")
            yield Match(f"pluginConfig[{index}].name", message, f"name: {name}" if name else "remove this entry")


def _accepts_entry(profile: ProfileInput, index: int, name: str) -> bool:
    """Return True if the entry of pluginConfig at ``index`` would be accepted for the plugin called ``name``."""
    entries = list(profile.fields.plugin_config)
    if any(entry.name == name for entry in entries) or not profile.points_of(name):
        return False
    entries[index] = entries[index].model_copy(update={"name": name})
    renamed = profile.fields.model_copy(update={"plugin_config": tuple(entries)})
    takes_args = name in catalog.IN_TREE_ARGS or name not in profile.defaults.extends or not entries[index].args
    return takes_args and ProfileInput(renamed, profile.document).effective is not None


@check("ArgsNotTaken", Severity.ERROR)
def args_not_accepted(profile: ProfileInput) -> Iterator[Match]:
    """There are arguments for a plugin without arguments; kube-scheduler starts and never reads them.

    Remove the entry from pluginConfig.
    """
    for index, entry in enumerate(profile.fields.plugin_config):
        fields = [field for field in entry.args if field not in ("apiVersion", "kind")]
        if entry.name in profile.defaults.extends and entry.name not in catalog.IN_TREE_ARGS and fields:
            message = f"{entry.name} takes no arguments, so {', '.join(fields)} is never read"
            yield Match(f"pluginConfig[{index}].args", message, "remove this entry")


@dataclass(frozen=True, slots=True)
class Reader:
    """The point at which a plugin reads a field of its arguments."""

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


@check("ArgsIgnored", Severity.WARNING)
def args_ignored(effective: EffectiveInput) -> Iterator[Match]:
    """An argument belongs to an extension point at which its plugin does not run.

    Enable the plugin at that point, or remove the argument.
    """
    for reader in _READERS:
        path, args = effective.args_entry(reader.plugin)
        is_enabled = reader.plugin in effective.running.names
        if is_enabled and not effective.runs(reader.plugin, reader.point) and _has(args, reader.field):
            message = f"{reader.plugin} reads this at {reader.point}, where it does not run"
            fix = enabling(effective.profile, reader.plugin, (reader.point,))
            yield Match(f"{path}.{reader.field}", message, either(fix, "remove this line"))


@check_of(args_ignored.code)
def ratio_ignored(effective: EffectiveInput) -> Iterator[Match]:
    path, args = effective.args_entry(_FIT)
    strategy = args.get("scoringStrategy")
    kind = strategy.get("type") if isinstance(strategy, dict) else None
    if kind != "RequestedToCapacityRatio" and _has(args, "scoringStrategy.requestedToCapacityRatio"):
        message = f"a strategy of type {kind or 'LeastAllocated'} has no use for a shape"
        fix = "scoringStrategy: {type: RequestedToCapacityRatio}, or remove this line"
        yield Match(f"{path}.scoringStrategy.requestedToCapacityRatio", message, fix)


def _has(args: Any, field: str) -> bool:
    """Return True if a field, given as a path, has a value in ``args``."""
    for name in field.split("."):
        if not isinstance(args, dict) or not args.get(name):
            return False
        args = args[name]
    return True


@check("FlatShape", Severity.WARNING)
def flat_shape(effective: EffectiveInput) -> Iterator[Match]:
    """A shape gives every utilization the same score, so it prefers no node.

    Let the scores rise to fill nodes, or fall to spread pods over them.
    """
    shapes: list[tuple[str, list[int]]] = []
    fit, volumes = effective.args(_FIT), effective.args("VolumeBinding")
    if isinstance(fit, NodeResourcesFitArgs) and effective.runs(_FIT, "score"):
        ratio = fit.scoring_strategy.requested_to_capacity_ratio
        if ratio is not None:
            path = f"{effective.args_entry(_FIT)[0]}.scoringStrategy.requestedToCapacityRatio.shape"
            shapes.append((path, [point.score for point in ratio.shape]))
    if isinstance(volumes, VolumeBindingArgs) and volumes.shape and effective.runs("VolumeBinding", "score"):
        path = f"{effective.args_entry('VolumeBinding')[0]}.shape"
        shapes.append((path, [point.score for point in volumes.shape]))
    for path, scores in shapes:
        if len(set(scores)) == 1:
            yield Match(
                path,
                f"every point scores {scores[0]}, so it scores all nodes the same",
                "shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]",
            )


@check("BalanceOfOne", Severity.WARNING)
def balance_of_one(effective: EffectiveInput) -> Iterator[Match]:
    """NodeResourcesBalancedAllocation has only one resource, so it scores all nodes the same: balance needs two.

    Name at least two resources, or disable the plugin at score.
    """
    args = effective.args(_BALANCE)
    if not isinstance(args, NodeResourcesBalancedAllocationArgs) or len(args.resources) != 1:
        return
    if effective.runs(_BALANCE, "score"):
        only = args.resources[0].name
        yield Match(
            f"{effective.args_entry(_BALANCE)[0]}.resources",
            f"{only} alone is always in balance, so every node gets the same score",
            "resources: [{name: cpu}, {name: memory}]",
        )


@check("UnknownResource", Severity.WARNING)
def unknown_resource(effective: EffectiveInput) -> Iterator[Match]:
    """A score counts a resource that no node can have, so that resource has no effect.

    Write cpu, memory, ephemeral-storage, or an extended resource with its domain, such as example.com/gpu.
    """
    scored: list[tuple[str, tuple[ResourceSpec, ...]]] = []
    fit, balance = effective.args(_FIT), effective.args(_BALANCE)
    if isinstance(fit, NodeResourcesFitArgs) and effective.runs(_FIT, "score"):
        path = f"{effective.args_entry(_FIT)[0]}.scoringStrategy.resources"
        scored.append((path, fit.scoring_strategy.resources))
    if isinstance(balance, NodeResourcesBalancedAllocationArgs) and effective.runs(_BALANCE, "score"):
        scored.append((f"{effective.args_entry(_BALANCE)[0]}.resources", balance.resources))
    for path, resources in scored:
        for index, resource in enumerate(resources):
            if resource.name not in _NATIVE and not is_scalar_resource(resource.name):
                message = f"no node offers {resource.name!r}, so it has no effect"
                free = _NATIVE - {other.name for other in resources}
                near = nearest(resource.name.lower(), sorted(free))
                fix = f"name: {near[0]}" if near else "remove this entry"
                yield Match(f"{path}[{index}].name", message, fix)


@check("IgnoredResourceCounts", Severity.WARNING)
def ignored_resource_counts(effective: EffectiveInput) -> Iterator[Match]:
    """NodeResourcesFit is told to ignore a resource of Kubernetes itself, which it never does.

    Remove the name; only extended resources such as example.com/gpu can be ignored.
    """
    args = effective.args(_FIT)
    if not isinstance(args, NodeResourcesFitArgs) or not effective.runs(_FIT, "filter"):
        return
    path = effective.args_entry(_FIT)[0]
    for index, name in enumerate(args.ignored_resources):
        if not is_extended_resource(name):
            message = f"{name} is no extended resource, so pods need room for it all the same"
            yield Match(f"{path}.ignoredResources[{index}]", message, "remove this entry")


@check("PreferenceIgnored", Severity.WARNING)
def preference_ignored(effective: EffectiveInput) -> Iterator[Match]:
    """A preferred term of addedAffinity has weight 0 or no condition, so it has no effect.

    Give the term a weight from 1 to 100 and at least one condition.
    """
    args = effective.args("NodeAffinity")
    if not isinstance(args, NodeAffinityArgs) or args.added_affinity is None:
        return
    field = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(args.added_affinity.preferred_during_scheduling_ignored_during_execution):
        path = f"{effective.args_entry('NodeAffinity')[0]}.{field}[{index}]"
        if not term.preference.match_expressions and not term.preference.match_fields:
            yield Match(f"{path}.preference", "a term without conditions prefers no node", "remove this entry")
        elif term.weight == 0:
            yield Match(f"{path}.weight", "a term of weight 0 is ignored", "weight: 1")


@check("NoTimeToBind", Severity.ERROR)
def no_time_to_bind(effective: EffectiveInput) -> Iterator[Match]:
    """VolumeBinding may not wait for volumes at all, so every pod that needs a volume bound fails.

    Leave bindTimeoutSeconds out for ten minutes, or set it to the seconds that provisioning takes.
    """
    args = effective.args("VolumeBinding")
    if not isinstance(args, VolumeBindingArgs) or not effective.runs("VolumeBinding", "preBind"):
        return
    seconds = args.bind_timeout_seconds
    if seconds == 0 or seconds > _LONGEST_SECONDS:
        how = "means no waiting" if seconds == 0 else "is more than a duration holds, overflows and becomes negative"
        yield Match(
            f"{effective.args_entry('VolumeBinding')[0]}.bindTimeoutSeconds",
            f"{seconds} {how}: a pod whose volumes are not bound yet fails at once",
            "bindTimeoutSeconds: 600",
        )


@check("SpreadFieldIgnored", Severity.ERROR)
def spread_field_ignored(effective: EffectiveInput) -> Iterator[Match]:
    """A default spread constraint has a value that the API server would refuse in a pod; here it is ignored.

    Write Honor or Ignore as a policy, and minDomains only with DoNotSchedule, 1 or more.
    """
    args = effective.args("PodTopologySpread")
    if not isinstance(args, PodTopologySpreadArgs):
        return
    for index, constraint in enumerate(args.default_constraints):
        path = f"{effective.args_entry('PodTopologySpread')[0]}.defaultConstraints[{index}]"
        policies = {
            "nodeAffinityPolicy": constraint.node_affinity_policy,
            "nodeTaintsPolicy": constraint.node_taints_policy,
        }
        for field, policy in policies.items():
            if policy not in (None, "Honor", "Ignore"):
                yield Match(f"{path}.{field}", f"{policy!r} is read as Ignore", f"{field}: Honor")
        domains = constraint.min_domains
        if domains is not None and (domains < 1 or constraint.when_unsatisfiable != "DoNotSchedule"):
            message = f"{domains} has no meaning with {constraint.when_unsatisfiable}"
            yield Match(f"{path}.minDomains", message, "remove this line")
