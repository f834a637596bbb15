"""What older kube-schedulers understood, said so that today's understands it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_operator.migrate.draft import Args, Entry, PluginChanges, ProfileDraft
from scheduler_operator.migrate.outcome import Notes
from scheduler_operator.migrate.removed_plugins import OLD_WEIGHTS, SUCCESSORS
from scheduler_operator.migrate.strategies import fold_strategies
from scheduler_runtime.catalog import REMOVED_PLUGINS

_AFFINITY = "NodeAffinity"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NODES_BY_LABEL = (
    "NodeLabel became spec.nodes, for labels that nodes must have or lack, and addedAffinity of NodeAffinity, for "
    "those they should; the latter share NodeAffinity's weight: raise it at score if they matter more"
)


def modernise(draft: ProfileDraft, notes: Notes, *, scores_least_allocated: bool) -> None:
    """Replace the plugins of ``draft`` that no kube-scheduler has any more.

    ``scores_least_allocated`` tells whether NodeResourcesLeastAllocated was a default of the input's kind.
    """
    fold_strategies(draft, notes, scores_least_allocated=scores_least_allocated)
    _choose_nodes_by_label(draft, notes)
    for changes in draft.plugins.values():
        _leave_out_removed(changes, notes)
    for name in [name for name in draft.args if name in REMOVED_PLUGINS]:
        notes.remark(draft.args.pop(name).path, f"left out with its plugin: {REMOVED_PLUGINS[name]}")


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


def weigh_balanced_alike(draft: ProfileDraft, notes: Notes) -> None:
    """NodeResourcesBalancedAllocation never told its resources apart by weight; v1 takes 1 only."""
    given = draft.args.get("NodeResourcesBalancedAllocation")
    resources = _items(given.fields.get("resources")) if given else []
    heavy = [each for each in resources if isinstance(each, dict) and each.get("weight") not in (None, 1)]
    if given and heavy:
        given.fields["resources"] = [{**each, "weight": 1} if each in heavy else each for each in resources]
        names = ", ".join(str(each.get("name")) for each in heavy)
        message = f"the weight of {names} became 1, because the plugin weighs all resources alike and v1 insists on it"
        notes.remark(given.path, message)


def _leave_out_removed(changes: PluginChanges, notes: Notes) -> None:
    for entry in [entry for entry in changes.enabled if entry.name in REMOVED_PLUGINS]:
        notes.remark(
            entry.path, f"{entry.name} is gone from kube-scheduler and left out: {REMOVED_PLUGINS[entry.name]}"
        )
        changes.enabled.remove(entry)
        successor = SUCCESSORS.get(entry.name)
        if successor and changes.disables(successor) and not changes.enables(successor):
            changes.enabled.append(Entry(successor, entry.weight, entry.path))
    for entry in [entry for entry in changes.disabled if entry.name in REMOVED_PLUGINS]:
        notes.remark(entry.path, _no_longer_disabled(entry.name))
        changes.disabled.remove(entry)


def _no_longer_disabled(name: str) -> str:
    successor = SUCCESSORS.get(name)
    if successor is None:
        return f"{name} is gone from kube-scheduler, so that it need not be disabled: {REMOVED_PLUGINS[name]}"
    off = "give it defaultingType: List" if successor == "PodTopologySpread" else "disable it too"
    return f"{name} is gone from kube-scheduler: {REMOVED_PLUGINS[name]}; {off} if that is not wanted either"


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
    told = [entry.path for entry in (*filters, *scores)]
    if (filters or not required) and (scores or not preferred):
        told.append(draft.args.pop("NodeLabel").path)
    _tell_once(told, _NODES_BY_LABEL, notes)


def _tell_once(paths: list[str], message: str, notes: Notes) -> None:
    """Tell it at the first path, and point there from those that are no part of another."""
    for path in paths:
        if path == paths[0]:
            notes.remark(path, message)
        elif not any(path.startswith((f"{each}.", f"{each}[")) for each in paths):
            notes.remark(path, f"went the same way as {paths[0]}")


def _taken_out(changes: PluginChanges) -> list[Entry]:
    """The entries that enable NodeLabel, which are gone then."""
    found = [entry for entry in changes.enabled if entry.name == "NodeLabel"]
    changes.enabled = [entry for entry in changes.enabled if entry.name != "NodeLabel"]
    return found


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
