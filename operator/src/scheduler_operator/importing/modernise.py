"""What older kube-schedulers understood, said so that today's understands it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from scheduler_operator.importing.draft import Args, Entry, PluginChanges, ProfileDraft
from scheduler_operator.importing.outcome import Notes
from scheduler_operator.importing.removed_plugins import OLD_WEIGHTS, REMOVED, STRATEGIES

_LEAST = "NodeResourcesLeastAllocated"
_FIT = "NodeResourcesFit"
_AFFINITY = "NodeAffinity"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_SUCCESSORS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), "NodeVolumeLimits"),
        **dict.fromkeys(("SelectorSpread", "DefaultPodTopologySpread"), "PodTopologySpread"),
    }
)
_FLAT_SHAPE = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
"""What RequestedToCapacityRatioPriority scored by when it was given no shape."""

_NODES_BY_LABEL = (
    "NodeLabel became spec.nodes, for labels that nodes must have or lack, and addedAffinity of NodeAffinity, for "
    "those they should; the latter share NodeAffinity's weight: raise it at score if they matter more"
)


def modernise(draft: ProfileDraft, notes: Notes, *, scores_least_allocated: bool) -> None:
    """Replace the plugins of ``draft`` that no kube-scheduler has any more.

    ``scores_least_allocated`` tells whether NodeResourcesLeastAllocated was a default of the input's kind.
    """
    _fold_strategies(draft, notes, scores_least_allocated)
    _choose_nodes_by_label(draft, notes)
    if scores_least_allocated:
        _complete_pre_filter(draft, notes)
    for changes in draft.plugins.values():
        _leave_out_removed(changes, notes)
    for name in [name for name in draft.args if name in REMOVED]:
        notes.remark(draft.args.pop(name).path, f"left out with its plugin: {REMOVED[name]}")


def keep_old_weights(draft: ProfileDraft, notes: Notes, path: str) -> None:
    """Write out the default weights of v1beta2 and before, which have grown since."""
    score, everywhere = draft.at("score"), draft.at("multiPoint")
    kept = [
        Entry(name, weight, path)
        for name, weight in OLD_WEIGHTS.items()
        if not (score.disables(name) or score.enables(name) or everywhere.disables(name) or everywhere.enables(name))
    ]
    if kept:
        score.enabled.extend(kept)
        names = ", ".join(entry.name for entry in kept)
        message = (
            "up to v1beta2 TaintToleration, NodeAffinity and InterPodAffinity weighed 1 by default; since then they "
        )
        message += f"weigh 3, 2 and 2; the old weights of {names} are kept: delete these entries to take today's"
        notes.remark(path, message)


def _fold_strategies(draft: ProfileDraft, notes: Notes, scores_least_allocated: bool) -> None:
    """Three plugins that scored by requested resources became three strategies of NodeResourcesFit."""
    score = draft.at("score")
    named = [entry for entry in (*score.enabled, *score.disabled) if entry.name in STRATEGIES]
    if not named and not draft.args.keys() & STRATEGIES.keys():
        return
    standing = [entry for entry in score.enabled if entry.name in STRATEGIES]
    if scores_least_allocated and not score.disables(_LEAST) and not score.enables(_LEAST):
        standing.append(Entry(_LEAST, 1))
    lost = any(entry.name == _LEAST for entry in score.disabled)
    score.enabled = [entry for entry in score.enabled if entry.name not in STRATEGIES]
    score.disabled = [entry for entry in score.disabled if entry.name not in STRATEGIES]
    if standing and not score.enables(_FIT):
        _score_by(max(standing, key=_strength), draft)
    elif lost:
        score.disable(_FIT)
    _tell_strategies(named, standing, draft, notes)


def _strength(entry: Entry) -> tuple[int, bool]:
    """Of two strategies of one weight, the one that somebody wrote down is meant."""
    return entry.weight or 1, bool(entry.path)


def _score_by(entry: Entry, draft: ProfileDraft) -> None:
    given = draft.args.pop(entry.name, Args({}, entry.path))
    strategy: dict[str, Any] = {"type": STRATEGIES[entry.name]}
    if given.fields.get("resources"):
        strategy["resources"] = given.fields["resources"]
    if entry.name == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": given.fields.get("shape") or _FLAT_SHAPE}
    if len(strategy) > 1 or entry.name != _LEAST:
        draft.args.setdefault(_FIT, Args({}, given.path)).fields["scoringStrategy"] = strategy
    if entry.path or entry.weight not in (None, 1):
        draft.at("score").enabled.append(Entry(_FIT, entry.weight, entry.path))


def _tell_strategies(named: list[Entry], standing: list[Entry], draft: ProfileDraft, notes: Notes) -> None:
    strategy = draft.args.get(_FIT, Args({}, "")).fields.get("scoringStrategy") or {}
    kept = strategy.get("type", "LeastAllocated")
    for entry in (entry for entry in named if entry.path):
        meant = STRATEGIES[entry.name]
        message = f"is the scoringStrategy {meant} of {_FIT} today"
        if entry in standing and meant != kept:
            message += f", which has one strategy only: {kept} stays; move what needs {meant} to a profile of its own"
        notes.remark(entry.path, f"{entry.name} {message}")
    for name in [name for name in draft.args if name in STRATEGIES]:
        notes.remark(draft.args.pop(name).path, f"left out, because {_FIT} scores by {kept} and {name} is not enabled")


def _leave_out_removed(changes: PluginChanges, notes: Notes) -> None:
    for entry in [entry for entry in changes.enabled if entry.name in REMOVED]:
        notes.remark(entry.path, f"{entry.name} is gone from kube-scheduler and left out: {REMOVED[entry.name]}")
        changes.enabled.remove(entry)
        successor = _SUCCESSORS.get(entry.name)
        if successor and changes.disables(successor) and not changes.enables(successor):
            changes.enabled.append(Entry(successor, entry.weight, entry.path))
    for entry in [entry for entry in changes.disabled if entry.name in REMOVED]:
        message = f"{entry.name} is gone from kube-scheduler, so that it need not be disabled: {REMOVED[entry.name]}"
        notes.remark(entry.path, message)
        changes.disabled.remove(entry)


def _choose_nodes_by_label(draft: ProfileDraft, notes: Notes) -> None:
    """NodeLabel filtered and preferred nodes by whether they have a label, whatever its value."""
    if "NodeLabel" not in draft.args:
        return
    given = draft.args["NodeLabel"]
    required = _label_requirements(given.fields, "presentLabels", "absentLabels")
    preferred = _label_requirements(given.fields, "presentLabelsPreference", "absentLabelsPreference")
    filters, scores = _taken_out(draft.at("filter")), _taken_out(draft.at("score"))
    if filters and required:
        draft.nodes.extend(required)
        _bring_back_affinity(draft, ("preFilter", "filter"), Entry(_AFFINITY, path=given.path), notes)
    if scores and preferred:
        weight = scores[0].weight or 1
        _bring_back_affinity(draft, ("preScore", "score"), Entry(_AFFINITY, weight, given.path), notes)
        each = max(1, min(100, weight // len(preferred)))
        _prefer(draft, [{"weight": each, "preference": {"matchExpressions": [term]}} for term in preferred], given.path)
    for entry in (*filters, *scores):
        notes.remark(entry.path, _NODES_BY_LABEL)
    if (filters or not required) and (scores or not preferred):
        notes.remark(draft.args.pop("NodeLabel").path, _NODES_BY_LABEL)


def _taken_out(changes: PluginChanges) -> list[Entry]:
    """The entries that enable NodeLabel, which are gone then."""
    found = [entry for entry in changes.enabled if entry.name == "NodeLabel"]
    changes.enabled = [entry for entry in changes.enabled if entry.name != "NodeLabel"]
    return found


def _complete_pre_filter(draft: ProfileDraft, notes: Notes) -> None:
    """VolumeRestrictions prepares its filter at preFilter since Kubernetes 1.22, and fails where it could not."""
    name, filtering = "VolumeRestrictions", draft.at("filter")
    is_on = filtering.enables(name) or not (filtering.disables(name) or draft.at("multiPoint").disables(name))
    if is_on and draft.at("preFilter").bring_back(Entry(name)):
        message = f"{name} filters and is enabled here too, because it prepares itself here since Kubernetes 1.22"
        notes.remark(draft.below("plugins.preFilter"), message)


def _bring_back_affinity(draft: ProfileDraft, points: tuple[str, ...], entry: Entry, notes: Notes) -> None:
    back = [draft.at(point).bring_back(entry) for point in points]
    if draft.at("multiPoint").bring_back(entry) or any(back):
        message = f"{_AFFINITY} is on at {points[-1]}, where the input has it off, because it looks at the labels there"
        notes.remark(entry.path, f"{message}; the node affinities of pods count there too")


def _label_requirements(fields: Mapping[str, Any], present: str, absent: str) -> list[dict[str, Any]]:
    return [
        *({"key": label, "operator": "Exists"} for label in _items(fields.get(present))),
        *({"key": label, "operator": "DoesNotExist"} for label in _items(fields.get(absent))),
    ]


def _prefer(draft: ProfileDraft, terms: list[dict[str, Any]], path: str) -> None:
    fields = draft.args.setdefault(_AFFINITY, Args({}, path)).fields
    added = fields.get("addedAffinity") or {}
    if isinstance(added, dict):  # otherwise whoever checks the arguments finds it
        fields["addedAffinity"] = {**added, _PREFERRED: [*_items(added.get(_PREFERRED)), *terms]}


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
