"""Replacement of the plugins that no kube-scheduler has any more.

``catalog.REMOVED_PLUGINS`` has the sentence about each; the tables here have what can be done without asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from scheduler_operator.migrate.draft import ArgsDraft, PluginChanges, PluginDraft, ProfileDraft
from scheduler_operator.migrate.input_part import ImportNotes
from scheduler_runtime.catalog import REMOVED_PLUGINS

STRATEGIES: Mapping[str, str] = MappingProxyType(
    {
        "NodeResourcesLeastAllocated": "LeastAllocated",
        "NodeResourcesMostAllocated": "MostAllocated",
        "RequestedToCapacityRatio": "RequestedToCapacityRatio",
    }
)
"""The plugins that became strategies of NodeResourcesFit."""

_SUCCESSORS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), "NodeVolumeLimits"),
        **dict.fromkeys(("SelectorSpread", "DefaultPodTopologySpread"), "PodTopologySpread"),
    }
)
"""The plugins whose work another one does by default today."""

_AFFINITY = "NodeAffinity"
_FIT = "NodeResourcesFit"
_LEAST = "NodeResourcesLeastAllocated"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NODES_BY_LABEL = (
    "NodeLabel became spec.nodes, for labels that nodes must have or lack, and addedAffinity of NodeAffinity, for "
    "those they should; the latter share NodeAffinity's weight: raise it at score if they matter more"
)
_FLAT_SHAPE = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
"""The shape by which RequestedToCapacityRatioPriority scored when it had none in its arguments."""


def replace_removed_plugins(draft: ProfileDraft, notes: ImportNotes, *, scores_least_allocated: bool) -> None:
    """Replace the plugins of ``draft`` that no kube-scheduler has any more, or leave them out.

    ``scores_least_allocated`` is True if NodeResourcesLeastAllocated was a default of the input's kind.
    """
    # These two know successors with other arguments; the loop below knows names only.
    _fold_strategies(draft, notes, scores_least_allocated=scores_least_allocated)
    _replace_node_label(draft, notes)
    for changes in draft.plugins.values():
        for entry in [entry for entry in changes.enabled if entry.name in REMOVED_PLUGINS]:
            message = f"{entry.name} is gone from kube-scheduler and left out: {REMOVED_PLUGINS[entry.name]}"
            notes.remark(entry.path, message)
            changes.enabled.remove(entry)
            successor = _SUCCESSORS.get(entry.name)
            if successor and changes.disables(successor) and not changes.enables(successor):
                changes.enabled.append(PluginDraft(successor, entry.weight, entry.path))
        for entry in [entry for entry in changes.disabled if entry.name in REMOVED_PLUGINS]:
            advice = REMOVED_PLUGINS[entry.name]
            successor = _SUCCESSORS.get(entry.name)
            if successor is None:
                message = f"{entry.name} is gone from kube-scheduler, so that it need not be disabled: {advice}"
            else:
                # The successor does more than its predecessor did, so that it is not disabled in its place.
                off = "give it defaultingType: List" if successor == "PodTopologySpread" else "disable it too"
                message = f"{entry.name} is gone from kube-scheduler: {advice}; {off} if that is not wanted either"
            notes.remark(entry.path, message)
            changes.disabled.remove(entry)
    for name in [name for name in draft.args if name in REMOVED_PLUGINS]:
        notes.remark(draft.args.pop(name).path, f"left out with its plugin: {REMOVED_PLUGINS[name]}")


def _replace_node_label(draft: ProfileDraft, notes: ImportNotes) -> None:
    """Replace NodeLabel, which filtered and preferred nodes by whether they have a label, whatever its value."""
    if "NodeLabel" not in draft.args:
        return
    args = draft.args["NodeLabel"]
    required = _label_requirements(args.fields, "presentLabels", "absentLabels")
    preferred = _label_requirements(args.fields, "presentLabelsPreference", "absentLabelsPreference")
    filters, scores = _remove_node_label(draft.at("filter")), _remove_node_label(draft.at("score"))
    if filters and required:
        draft.nodes.extend(required)
        _enable_affinity(draft, ("preFilter", "filter"), PluginDraft(_AFFINITY, path=args.path), notes)
    if scores and preferred:
        weight = scores[0].weight or 1
        _enable_affinity(draft, ("preScore", "score"), PluginDraft(_AFFINITY, weight, args.path), notes)
        # The terms share NodeLabel's weight; a preferred term has one between 1 and 100.
        share = max(1, min(100, weight // len(preferred)))
        terms = [{"weight": share, "preference": {"matchExpressions": [term]}} for term in preferred]
        fields = draft.args.setdefault(_AFFINITY, ArgsDraft({}, args.path)).fields
        added = fields.get("addedAffinity") or {}
        if isinstance(added, dict):  # otherwise the check of the arguments reports it
            fields["addedAffinity"] = {**added, _PREFERRED: [*_as_list(added.get(_PREFERRED)), *terms]}
    paths = [entry.path for entry in (*filters, *scores)]
    if (filters or not required) and (scores or not preferred):
        paths.append(draft.args.pop("NodeLabel").path)
    # The whole message stands at the first path; the others point there, unless they are part of one that does.
    for path in paths:
        if path == paths[0]:
            notes.remark(path, _NODES_BY_LABEL)
        elif not any(path.startswith((f"{other}.", f"{other}[")) for other in paths):
            notes.remark(path, f"went the same way as {paths[0]}")


def _label_requirements(fields: Mapping[str, Any], present: str, absent: str) -> list[dict[str, Any]]:
    return [
        *({"key": label, "operator": "Exists"} for label in _as_list(fields.get(present))),
        *({"key": label, "operator": "DoesNotExist"} for label in _as_list(fields.get(absent))),
    ]


def _remove_node_label(changes: PluginChanges) -> list[PluginDraft]:
    """Remove and return the entries that enable NodeLabel."""
    entries = [entry for entry in changes.enabled if entry.name == "NodeLabel"]
    changes.enabled = [entry for entry in changes.enabled if entry.name != "NodeLabel"]
    return entries


def _enable_affinity(draft: ProfileDraft, points: tuple[str, ...], entry: PluginDraft, notes: ImportNotes) -> None:
    were_off = [draft.at(point).enable_again(entry) for point in points]
    if draft.at("multiPoint").enable_again(entry) or any(were_off):
        message = f"{_AFFINITY} is on at {points[-1]}, where the input has it off, because it looks at the labels there"
        notes.remark(entry.path, f"{message}; the node affinities of pods count there too")


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _fold_strategies(draft: ProfileDraft, notes: ImportNotes, *, scores_least_allocated: bool) -> None:
    """Turn the three plugins that scored by requested resources into the one strategy that NodeResourcesFit has.

    NodeResourcesFit scores by default in the kinds of input in which NodeResourcesLeastAllocated does not, and in no
    other (KEP-2458 made strategies of the plugins).
    """
    score = draft.at("score")
    scoring = [entry for entry in score.enabled if entry.name in STRATEGIES]
    if scores_least_allocated and not score.disables(_LEAST) and not score.enables(_LEAST):
        scoring.append(PluginDraft(_LEAST, 1))
    _disable_strategies(score, notes, scores_least_allocated, has_scoring=bool(scoring))
    if not (draft.args.keys() | {entry.name for entry in score.enabled}) & STRATEGIES.keys():
        return
    score.enabled = [entry for entry in score.enabled if entry.name not in STRATEGIES]
    if scoring and not score.enables(_FIT):
        # Only one strategy can stay: the heaviest, and of two with one weight the one that somebody wrote down.
        strongest = max(scoring, key=lambda entry: (entry.weight or 1, bool(entry.path)))
        args = draft.args.pop(strongest.name, ArgsDraft({}, strongest.path))
        strategy: dict[str, Any] = {"type": STRATEGIES[strongest.name]}
        if args.fields.get("resources"):
            strategy["resources"] = args.fields["resources"]
        if strongest.name == "RequestedToCapacityRatio":
            strategy["requestedToCapacityRatio"] = {"shape": args.fields.get("shape") or _FLAT_SHAPE}
        if len(strategy) > 1 or strongest.name != _LEAST:  # LeastAllocated without resources is the default
            draft.args.setdefault(_FIT, ArgsDraft({}, args.path)).fields["scoringStrategy"] = strategy
        if strongest.path or strongest.weight not in (None, 1):
            score.enabled.append(PluginDraft(_FIT, strongest.weight, strongest.path))
    # One strategy stays, and each plugin gets a remark; the arguments of those that give way are left out.
    remaining = (draft.args.get(_FIT, ArgsDraft({}, "")).fields.get("scoringStrategy") or {}).get(
        "type", "LeastAllocated"
    )
    for entry in scoring:
        own = STRATEGIES[entry.name]
        message = f"is the scoringStrategy {own} of {_FIT} today"
        if own != remaining:
            message += f", which has one strategy only: {remaining} stays; "
            message += f"move what needs {own} to a profile of its own"
        if not entry.path and own != remaining:
            notes.remark(draft.path_of("plugins.score"), f"{entry.name}, which scored by default, {message}")
        elif entry.path:
            notes.remark(entry.path, f"{entry.name} {message}")
    for name in [name for name in draft.args if name in STRATEGIES]:
        message = f"left out, because {_FIT} scores by {remaining} and {name} is not enabled"
        notes.remark(draft.args.pop(name).path, message)


def _disable_strategies(
    score: PluginChanges, notes: ImportNotes, scores_least_allocated: bool, *, has_scoring: bool
) -> None:
    """Disable the plugins today that were disabled then, and none for names that were no defaults."""
    former_default = _LEAST if scores_least_allocated else _FIT
    idle = [entry for entry in score.disabled if entry.name in (*STRATEGIES, _FIT) and entry.name != former_default]
    for entry in idle:
        score.disabled.remove(entry)
        if entry.path:
            message = f"{entry.name} was no default of score here: disabling it did nothing, and is left out"
            notes.remark(entry.path, message)
    # After the idle entries are gone: one of them may have been NodeResourcesFit, which is disabled for a reason now.
    for entry in [entry for entry in score.disabled if scores_least_allocated and entry.name == _LEAST]:
        score.disabled.remove(entry)
        message = f"{_LEAST} is the scoringStrategy LeastAllocated of {_FIT} today"
        if not has_scoring:
            score.disable(_FIT, entry.path)
            message += ", which is disabled in its place"
        if entry.path:
            notes.remark(entry.path, message)
