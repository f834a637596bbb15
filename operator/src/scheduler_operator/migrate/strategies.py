"""The three plugins that scored by requested resources, and NodeResourcesFit, whose strategies they became."""

from __future__ import annotations

from typing import Any

from scheduler_operator.migrate.draft import Args, Entry, PluginChanges, ProfileDraft
from scheduler_operator.migrate.outcome import Notes
from scheduler_operator.migrate.removed_plugins import STRATEGIES

_LEAST = "NodeResourcesLeastAllocated"
_FIT = "NodeResourcesFit"
_FLAT_SHAPE = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
"""What RequestedToCapacityRatioPriority scored by when it was given no shape."""


def fold_strategies(draft: ProfileDraft, notes: Notes, *, scores_least_allocated: bool) -> None:
    """Say what the three plugins did as the one strategy that NodeResourcesFit has.

    ``scores_least_allocated`` tells whether NodeResourcesLeastAllocated was a default of the input's kind.
    NodeResourcesFit scores by default in every other kind, and in none of those.
    """
    score = draft.at("score")
    standing = [entry for entry in score.enabled if entry.name in STRATEGIES]
    if scores_least_allocated and not score.disables(_LEAST) and not score.enables(_LEAST):
        standing.append(Entry(_LEAST, 1))
    _clear_disabled(score, notes, scores_least_allocated, is_scored=bool(standing))
    if not (draft.args.keys() | {entry.name for entry in score.enabled}) & STRATEGIES.keys():
        return
    score.enabled = [entry for entry in score.enabled if entry.name not in STRATEGIES]
    if standing and not score.enables(_FIT):
        _score_by(max(standing, key=_strength), draft)
    _tell(standing, draft, notes)


def _clear_disabled(score: PluginChanges, notes: Notes, scores_least_allocated: bool, *, is_scored: bool) -> None:
    """Disable today what was disabled then, and nothing for names that were no defaults."""
    was_default = _LEAST if scores_least_allocated else _FIT
    idle = [entry for entry in score.disabled if entry.name in (*STRATEGIES, _FIT) and entry.name != was_default]
    for entry in idle:
        score.disabled.remove(entry)
        _remark(entry, f"{entry.name} was no default of score here: disabling it did nothing, and is left out", notes)
    if not scores_least_allocated:
        return
    for entry in [entry for entry in score.disabled if entry.name == _LEAST]:
        score.disabled.remove(entry)
        message = f"{_LEAST} is the scoringStrategy LeastAllocated of {_FIT} today"
        if not is_scored:
            score.disable(_FIT, entry.path)
            message += ", which is disabled in its place"
        _remark(entry, message, notes)


def _remark(entry: Entry, message: str, notes: Notes) -> None:
    if entry.path:
        notes.remark(entry.path, message)


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


def _tell(standing: list[Entry], draft: ProfileDraft, notes: Notes) -> None:
    strategy = draft.args.get(_FIT, Args({}, "")).fields.get("scoringStrategy") or {}
    kept = strategy.get("type", "LeastAllocated")
    for entry in standing:
        meant = STRATEGIES[entry.name]
        message = f"is the scoringStrategy {meant} of {_FIT} today"
        if meant != kept:
            message += f", which has one strategy only: {kept} stays; move what needs {meant} to a profile of its own"
        if not entry.path and meant != kept:
            notes.remark(draft.below("plugins.score"), f"{entry.name}, which scored by default, {message}")
        elif entry.path:
            notes.remark(entry.path, f"{entry.name} {message}")
    for name in [name for name in draft.args if name in STRATEGIES]:
        notes.remark(draft.args.pop(name).path, f"left out, because {_FIT} scores by {kept} and {name} is not enabled")
