"""What goes with a plugin that is taken away: whole points left empty, and defaults that nobody misses until later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ...catalog.args import PodTopologySpreadArgs
from ..findings import Severity
from .checks import Code, Told, check
from .subjects import Meaning

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


@check(
    Code(
        "FilterRemoved",
        Severity.WARNING,
        "A default filter does not run, so what pods ask of it is silently not kept.",
        "Leave the filter on, or enable a plugin that does its work.",
    )
)
def filter_removed(meaning: Meaning) -> Iterator[Told]:
    if not meaning.at("filter") or _replaced(meaning, "filter"):
        return
    gone: dict[str, list[str]] = {}
    for name, consequence in LOST.items():
        if not meaning.enables(name, "filter") and not meaning.enables(name, "preFilter"):
            path = meaning.written.removal(name, "filter")
            gone.setdefault(path, []).append(f"without {name} {consequence}")
    for path, sentences in gone.items():
        yield Told(path, "; ".join(sentences), "filter: {enabled: [{name: …}]} for each that is needed")


@check(
    Code(
        "NoFilterLeft",
        Severity.WARNING,
        "No plugin filters, so every pod fits every node, full and cordoned ones included.",
        "Leave at least NodeResourcesFit, TaintToleration, NodeAffinity and NodeUnschedulable at filter.",
    )
)
def no_filter_left(meaning: Meaning) -> Iterator[Told]:
    if not meaning.at("filter") and not meaning.at("preFilter"):
        yield Told(
            meaning.written.removal("NodeResourcesFit", "filter"),
            "nothing filters: pods go to nodes that are full, tainted, cordoned or not theirs",
            "filter: {enabled: [{name: NodeResourcesFit}, {name: TaintToleration}, {name: NodeAffinity}]}",
        )


@check(
    Code(
        "NoScoreLeft",
        Severity.NOTE,
        "No plugin scores, so a pod gets the first node found that it fits, whichever that is.",
        "Leave it when speed is what matters; otherwise enable a plugin at score.",
    )
)
def no_score_left(meaning: Meaning) -> Iterator[Told]:
    if not meaning.at("score"):
        yield Told(
            meaning.written.removal("NodeResourcesFit", "score"),
            "nothing scores: the search ends at the first node that fits",
            "score: {enabled: [{name: NodeResourcesFit, weight: 1}]}",
        )


@check(
    Code(
        "PreemptionRemoved",
        Severity.NOTE,
        "Nothing preempts, so a pod of high priority waits for room like any other.",
        "Enable DefaultPreemption at postFilter if priorities are to make room.",
    )
)
def preemption_removed(meaning: Meaning) -> Iterator[Told]:
    if meaning.takes_away("DefaultPreemption", "postFilter") and not _replaced(meaning, "postFilter"):
        yield Told(
            meaning.written.removal("DefaultPreemption", "postFilter"),
            "DefaultPreemption does not run at postFilter: priorities order the queue and nothing more",
            "postFilter: {enabled: [{name: DefaultPreemption}]}",
        )


@check(
    Code(
        "PreemptionNotAwaited",
        Severity.WARNING,
        "DefaultPreemption preempts but does not hold the pod back until its victims are gone.",
        "Leave DefaultPreemption on at preEnqueue.",
    )
)
def preemption_not_awaited(meaning: Meaning) -> Iterator[Told]:
    if meaning.has("DefaultPreemption", "postFilter") and not meaning.has("DefaultPreemption", "preEnqueue"):
        yield Told(
            meaning.written.removal("DefaultPreemption", "preEnqueue"),
            "without DefaultPreemption at preEnqueue a pod is tried again while its victims are still being deleted",
            "preEnqueue: {enabled: [{name: DefaultPreemption}]}",
        )


@check(
    Code(
        "ClaimsNotReleased",
        Severity.WARNING,
        "DynamicResources allocates claims but gives none back, so a pod can wait for ever with its devices in hand.",
        "Leave DynamicResources on at postFilter.",
    )
)
def claims_not_released(meaning: Meaning) -> Iterator[Told]:
    on = meaning.has("DynamicResources", "filter") and bool(meaning.at("postFilter"))
    if on and not meaning.has("DynamicResources", "postFilter"):
        yield Told(
            meaning.written.removal("DynamicResources", "postFilter"),
            "without DynamicResources at postFilter a claim stays allocated on a node that the pod does not fit",
            "postFilter: {enabled: [{name: DynamicResources}]}",
        )


@check(
    Code(
        "GatesIgnored",
        Severity.ERROR,
        "SchedulingGates does not run, so gated pods are tried again and again, and the API server refuses each bind.",
        "Leave SchedulingGates on at preEnqueue.",
    )
)
def gates_ignored(meaning: Meaning) -> Iterator[Told]:
    if not meaning.has("SchedulingGates", "preEnqueue"):
        yield Told(
            meaning.written.removal("SchedulingGates", "preEnqueue"),
            "without SchedulingGates pods with schedulingGates are scheduled, and every bind is refused",
            "preEnqueue: {enabled: [{name: SchedulingGates}]}",
        )


@check(
    Code(
        "DefaultSpreadDisabled",
        Severity.NOTE,
        "Pods without constraints of their own are no longer spread over nodes and zones.",
        "Set defaultingType to System, or list default constraints, if replicas are to be spread.",
    )
)
def default_spread_disabled(meaning: Meaning) -> Iterator[Told]:
    if not meaning.at("score"):
        return
    if meaning.takes_away("PodTopologySpread", "score"):
        message = "PodTopologySpread does not score, so replicas of a Service may all share one node"
        path = meaning.written.removal("PodTopologySpread", "score")
        yield Told(path, message, "score: {enabled: [{name: PodTopologySpread, weight: 2}]}")
        return
    args = meaning.args("PodTopologySpread")
    if isinstance(args, PodTopologySpreadArgs) and args.defaulting_type == "List" and not args.default_constraints:
        message = "a List of no constraints spreads nothing, so replicas of a Service may all share one node"
        yield Told(f"{meaning.entry('PodTopologySpread')[0]}.defaultingType", message, "defaultingType: System")


def _replaced(meaning: Meaning, point: str) -> bool:
    """Whether a plugin from elsewhere runs at ``point`` and may do what is missed."""
    return bool(meaning.strangers & set(meaning.at(point)))
