"""What goes with a plugin that is taken away: whole points left empty, and defaults that nobody misses until later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from scheduler_runtime.catalog.args import PodTopologySpreadArgs
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
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
"""What happens without the filter of a default plugin."""
_LEAST = ("NodeResourcesFit", "TaintToleration", "NodeAffinity", "NodeUnschedulable")
_MANY = len(LOST) // 2


@check(
    Code(
        "FilterRemoved",
        Severity.WARNING,
        "A default filter does not run, so what pods ask of it is silently not kept.",
        "Leave the filter on, or enable a plugin that does its work.",
    )
)
def filter_removed(meaning: EffectiveInput) -> Iterator[Match]:
    if not meaning.at("filter") or _replaced(meaning, "filter"):
        return
    gone: dict[str, list[str]] = {}
    for name in LOST:
        if not meaning.enables(name, "filter") and not meaning.enables(name, "preFilter"):
            gone.setdefault(meaning.written.removal(name, "filter"), []).append(name)
    for path, plugins in gone.items():
        yield from _without_most(meaning, path, plugins) if len(plugins) > _MANY else _without(meaning, path, plugins)


def _without(meaning: EffectiveInput, path: str, plugins: Sequence[str]) -> Iterator[Match]:
    for name in plugins:
        fix = enabling(meaning.written, name, ("filter",))
        yield Match(path, f"without {name} {LOST[name]}", either(fix))


def _without_most(meaning: EffectiveInput, path: str, plugins: Sequence[str]) -> Iterator[Match]:
    """One finding where an asterisk took so much that a sentence about each would bury the reader."""
    message = f"{len(plugins)} of {len(LOST)} default filters do not run, and what they promise is not kept: "
    listed = f"{', '.join(plugins[:-1])} and {plugins[-1]}"
    yield Match(path, message + listed, either(enabling_all(meaning.written, plugins, ("filter",))))


@check(
    Code(
        "NoFilterLeft",
        Severity.WARNING,
        "No plugin filters, so every pod fits every node, full and cordoned ones included.",
        "Leave at least NodeResourcesFit, TaintToleration, NodeAffinity and NodeUnschedulable at filter.",
    )
)
def no_filter_left(meaning: EffectiveInput) -> Iterator[Match]:
    if not meaning.at("filter") and not meaning.at("preFilter"):
        yield Match(
            meaning.written.removal("NodeResourcesFit", "filter"),
            "nothing filters: pods go to nodes that are full, tainted, cordoned or not theirs",
            either(enabling_all(meaning.written, _LEAST, ("filter",))),
        )


@check(
    Code(
        "NoScoreLeft",
        Severity.NOTE,
        "No plugin scores, so a pod gets the first node found that it fits, whichever that is.",
        "Leave it when speed is what matters; otherwise enable a plugin at score.",
    )
)
def no_score_left(meaning: EffectiveInput) -> Iterator[Match]:
    if not meaning.at("score"):
        yield Match(
            meaning.written.removal("NodeResourcesFit", "score"),
            "nothing scores: the search ends at the first node that fits",
            either(enabling(meaning.written, "NodeResourcesFit", ("score",))),
        )


@check(
    Code(
        "PreemptionRemoved",
        Severity.NOTE,
        "Nothing preempts, so a pod of high priority waits for room like any other.",
        "Enable DefaultPreemption at postFilter if priorities are to make room.",
    )
)
def preemption_removed(meaning: EffectiveInput) -> Iterator[Match]:
    if meaning.takes_away("DefaultPreemption", "postFilter") and not _replaced(meaning, "postFilter"):
        yield Match(
            meaning.written.removal("DefaultPreemption", "postFilter"),
            "DefaultPreemption does not run at postFilter: priorities order the queue and nothing more",
            either(enabling(meaning.written, "DefaultPreemption", ("preEnqueue", "postFilter"))),
        )


@check(
    Code(
        "PreemptionNotAwaited",
        Severity.WARNING,
        "DefaultPreemption preempts but does not hold the pod back until its victims are gone.",
        "Leave DefaultPreemption on at preEnqueue.",
    )
)
def preemption_not_awaited(meaning: EffectiveInput) -> Iterator[Match]:
    if meaning.has("DefaultPreemption", "postFilter") and not meaning.has("DefaultPreemption", "preEnqueue"):
        yield Match(
            meaning.written.removal("DefaultPreemption", "preEnqueue"),
            "without DefaultPreemption at preEnqueue a pod is tried again while its victims are still being deleted",
            either(enabling(meaning.written, "DefaultPreemption", ("preEnqueue",))),
        )


@check(
    Code(
        "ClaimsNotReleased",
        Severity.WARNING,
        "DynamicResources allocates claims but gives none back, so a pod can wait for ever with its devices in hand.",
        "Leave DynamicResources on at postFilter.",
    )
)
def claims_not_released(meaning: EffectiveInput) -> Iterator[Match]:
    on = meaning.has("DynamicResources", "filter") and bool(meaning.at("postFilter"))
    if on and not meaning.has("DynamicResources", "postFilter"):
        yield Match(
            meaning.written.removal("DynamicResources", "postFilter"),
            "without DynamicResources at postFilter a claim stays allocated on a node that the pod does not fit",
            either(enabling(meaning.written, "DynamicResources", ("postFilter",))),
        )


@check(
    Code(
        "GatesIgnored",
        Severity.ERROR,
        "SchedulingGates does not run, so gated pods are tried again and again, and the API server refuses each bind.",
        "Leave SchedulingGates on at preEnqueue.",
    )
)
def gates_ignored(meaning: EffectiveInput) -> Iterator[Match]:
    if not meaning.has("SchedulingGates", "preEnqueue"):
        yield Match(
            meaning.written.removal("SchedulingGates", "preEnqueue"),
            "without SchedulingGates pods with schedulingGates are scheduled, and every bind is refused",
            either(enabling(meaning.written, "SchedulingGates", ("preEnqueue",))),
        )


@check(
    Code(
        "DefaultSpreadDisabled",
        Severity.NOTE,
        "Pods without constraints of their own are no longer spread over nodes and zones.",
        "Set defaultingType to System, or list default constraints, if replicas are to be spread.",
    )
)
def default_spread_disabled(meaning: EffectiveInput) -> Iterator[Match]:
    if not meaning.at("score"):
        return
    if meaning.takes_away("PodTopologySpread", "score"):
        message = "PodTopologySpread does not score, so replicas of a Service may all share one node"
        path = meaning.written.removal("PodTopologySpread", "score")
        yield Match(path, message, either(enabling(meaning.written, "PodTopologySpread", ("score",))))
        return
    args = meaning.args("PodTopologySpread")
    if isinstance(args, PodTopologySpreadArgs) and args.defaulting_type == "List" and not args.default_constraints:
        message = "a List of no constraints spreads nothing, so replicas of a Service may all share one node"
        yield Match(f"{meaning.entry('PodTopologySpread')[0]}.defaultingType", message, "defaultingType: System")


def _replaced(meaning: EffectiveInput, point: str) -> bool:
    """Whether a plugin from elsewhere runs at ``point`` and may do what is missed."""
    return bool(meaning.strangers & set(meaning.at(point)))
