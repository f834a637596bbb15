"""Algorithm providers: the named sets of plugins that kube-scheduler had up to 1.22."""

from __future__ import annotations

from scheduler_operator.migrate.draft import Args, ProfileDraft
from scheduler_operator.migrate.outcome import Notes

_DEFAULT = "DefaultProvider"
_AUTOSCALER = "ClusterAutoscalerProvider"


def choose_provider(draft: ProfileDraft, provider: str | None, notes: Notes, path: str) -> None:
    """Say in plugins what the provider called ``provider`` chose."""
    if provider in (None, "", _DEFAULT):
        return
    if provider == _AUTOSCALER:
        strategy = {"type": "MostAllocated"}
        draft.args.setdefault("NodeResourcesFit", Args({}, path)).fields.setdefault("scoringStrategy", strategy)
        notes.remark(path, f"{_AUTOSCALER} is NodeResourcesFit with the scoringStrategy MostAllocated today")
    else:
        notes.remark(path, f"kube-scheduler had no provider {provider!r}; its defaults stand")
