"""Consequences of a default plugin that is disabled: points left empty, and work that nothing does any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from scheduler_runtime.catalog.args import PodTopologySpreadArgs
from scheduler_runtime.config.linter.checks import Match, Severity, check
from scheduler_runtime.config.linter.inputs import EffectiveInput
from scheduler_runtime.config.linter.suggested_fixes import either, enabling, enabling_all

LOST: Mapping[str, str] = MappingProxyType(
    {
        "DynamicResources": "resource claims are not allocated",
        "InterPodAffinity": "required pod affinity and anti-affinity are not kept",
        "NodeAffinity": "the kubelet refuses pods whose nodeSelector or affinity asks for another node",
        "NodePorts": "the kubelet refuses pods whose host port is taken",
        "NodeResourcesFit": "full nodes get more pods, which the kubelet refuses with OutOfcpu or OutOfmemory",
        "NodeUnschedulable": "cordoned nodes get pods",
        "NodeVolumeLimits": "nodes get more volumes than they can attach",
        "PodTopologySpread": "spread constraints with DoNotSchedule are not kept",
        "TaintToleration": "nodes with NoSchedule and NoExecute taints get pods that do not tolerate them",
        "VolumeBinding": "volumes that wait for their first pod are never bound",
        "VolumeRestrictions": "volumes of which one pod may have the only mount get a second pod",
        "VolumeZone": "pods go to zones where their volumes are not",
    }
)
"""The consequence of the missing filter, for each default plugin that filters."""
_INDISPENSABLE = ("NodeResourcesFit", "TaintToleration", "NodeAffinity", "NodeUnschedulable")
_MANY = len(LOST) // 2


@check("FilterRemoved", Severity.WARNING)
def filter_removed(effective: EffectiveInput) -> Iterator[Match]:
    """A default filter does not run, so what pods require from it is silently ignored.

    Leave the filter on, or enable a plugin that replaces it.
    """
    if not effective.at("filter") or _may_be_replaced(effective, "filter"):
        return
    profile = effective.profile
    missing: dict[str, list[str]] = {}
    for name in LOST:
        if not effective.enables(name, "filter") and not effective.enables(name, "preFilter"):
            missing.setdefault(profile.path_of_removal(name, "filter"), []).append(name)
    for path, plugins in missing.items():
        if len(plugins) > _MANY:
            # One finding where an asterisk removed so much that a sentence about each plugin would bury the reader.
            message = f"{len(plugins)} of {len(LOST)} default filters do not run, and what they promise is not kept: "
            message += f"{', '.join(plugins[:-1])} and {plugins[-1]}"
            yield Match(path, message, either(enabling_all(profile, plugins, ("filter",))))
            continue
        for name in plugins:
            yield Match(path, f"without {name} {LOST[name]}", either(enabling(profile, name, ("filter",))))


@check("NoFilterLeft", Severity.WARNING)
def no_filter_runs(effective: EffectiveInput) -> Iterator[Match]:
    """No plugin filters, so every pod fits every node, even full and cordoned ones.

    Leave at least NodeResourcesFit, TaintToleration, NodeAffinity and NodeUnschedulable at filter.
    """
    if not effective.at("filter") and not effective.at("preFilter"):
        yield Match(
            effective.profile.path_of_removal("NodeResourcesFit", "filter"),
            "no plugin filters: pods go to nodes that are full, tainted, cordoned or excluded by affinity",
            either(enabling_all(effective.profile, _INDISPENSABLE, ("filter",))),
        )


@check("NoScoreLeft", Severity.NOTE)
def no_score_runs(effective: EffectiveInput) -> Iterator[Match]:
    """No plugin scores, so a pod gets the first node on which it fits.

    Keep it if speed is the goal; otherwise enable a plugin at score.
    """
    if not effective.at("score"):
        yield Match(
            effective.profile.path_of_removal("NodeResourcesFit", "score"),
            "no plugin scores: the search ends at the first node that fits",
            either(enabling(effective.profile, "NodeResourcesFit", ("score",))),
        )


@check("PreemptionRemoved", Severity.NOTE)
def preemption_removed(effective: EffectiveInput) -> Iterator[Match]:
    """No plugin preempts, so a pod of high priority waits for room like any other.

    Enable DefaultPreemption at postFilter if pods of high priority should preempt others.
    """
    removed = effective.disables("DefaultPreemption", "postFilter")
    if removed and not _may_be_replaced(effective, "postFilter"):
        yield Match(
            effective.profile.path_of_removal("DefaultPreemption", "postFilter"),
            "DefaultPreemption does not run at postFilter: priorities only order the queue",
            either(enabling(effective.profile, "DefaultPreemption", ("preEnqueue", "postFilter"))),
        )


@check("PreemptionNotAwaited", Severity.WARNING)
def preemption_not_awaited(effective: EffectiveInput) -> Iterator[Match]:
    """DefaultPreemption preempts, but the pod does not wait until its victims are gone.

    Leave DefaultPreemption on at preEnqueue.
    """
    preempts = effective.runs("DefaultPreemption", "postFilter")
    if preempts and not effective.runs("DefaultPreemption", "preEnqueue"):
        yield Match(
            effective.profile.path_of_removal("DefaultPreemption", "preEnqueue"),
            "without DefaultPreemption at preEnqueue a pod is tried again while its victims are still being deleted",
            either(enabling(effective.profile, "DefaultPreemption", ("preEnqueue",))),
        )


@check("ClaimsNotReleased", Severity.WARNING)
def claims_not_released(effective: EffectiveInput) -> Iterator[Match]:
    """DynamicResources allocates claims but never releases them, so a pod can wait without end while it holds devices.

    Leave DynamicResources on at postFilter.
    """
    allocates = effective.runs("DynamicResources", "filter") and bool(effective.at("postFilter"))
    if allocates and not effective.runs("DynamicResources", "postFilter"):
        yield Match(
            effective.profile.path_of_removal("DynamicResources", "postFilter"),
            "without DynamicResources at postFilter a claim stays allocated on a node that the pod does not fit",
            either(enabling(effective.profile, "DynamicResources", ("postFilter",))),
        )


@check("GatesIgnored", Severity.ERROR)
def gates_ignored(effective: EffectiveInput) -> Iterator[Match]:
    """SchedulingGates does not run, so gated pods are tried again and again, and the API server refuses each binding.

    Leave SchedulingGates on at preEnqueue.
    """
    if not effective.runs("SchedulingGates", "preEnqueue"):
        yield Match(
            effective.profile.path_of_removal("SchedulingGates", "preEnqueue"),
            "without SchedulingGates pods with schedulingGates are scheduled, and every bind is refused",
            either(enabling(effective.profile, "SchedulingGates", ("preEnqueue",))),
        )


@check("DefaultSpreadDisabled", Severity.NOTE)
def default_spread_disabled(effective: EffectiveInput) -> Iterator[Match]:
    """Pods without spread constraints of their own are no longer spread over nodes and zones.

    Set defaultingType to System, or list default constraints, to spread replicas.
    """
    if not effective.at("score"):
        return
    if effective.disables("PodTopologySpread", "score"):
        message = "PodTopologySpread does not score, so replicas of a Service may all share one node"
        path = effective.profile.path_of_removal("PodTopologySpread", "score")
        yield Match(path, message, either(enabling(effective.profile, "PodTopologySpread", ("score",))))
        return
    args = effective.args("PodTopologySpread")
    if isinstance(args, PodTopologySpreadArgs) and args.defaulting_type == "List" and not args.default_constraints:
        message = "a List of no constraints spreads nothing, so replicas of a Service may all share one node"
        path = effective.args_entry("PodTopologySpread")[0]
        yield Match(f"{path}.defaultingType", message, "defaultingType: System")


def _may_be_replaced(effective: EffectiveInput, point: str) -> bool:
    """Return True if a plugin that does not come with Kubernetes runs at ``point``: it may do what is missing."""
    return any(name not in effective.profile.defaults.extends for name in effective.at(point))
