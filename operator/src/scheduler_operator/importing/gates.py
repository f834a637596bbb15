"""``--feature-gates`` of any age: which of them a kube-scheduler that is known still takes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scheduler_operator.importing.outcome import Notes
from scheduler_operator.importing.targets import TARGETS
from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.gates import gates

_GROUPS = ("AllAlpha", "AllBeta")
_RENAMED: Mapping[str, str] = MappingProxyType({"VolumeCapacityPriority": "StorageCapacityScoring"})


def read_gates(text: str, path: str, notes: Notes) -> dict[str, bool]:
    """The gates that ``text`` turns, without those that no known version takes."""
    found: dict[str, bool] = {}
    for pair in filter(None, text.split(",")):
        name, _, value = pair.rpartition(":")[2].strip().partition("=")
        if value.lower() not in ("true", "false"):
            notes.refuse(path, f"{pair!r} turns no feature gate on or off; write it like Name=true")
            continue
        on = value.lower() == "true"
        name = _today(name, path, notes)
        if _is_taken(name, on, path, notes):
            found[name] = on
    return found


def _today(name: str, path: str, notes: Notes) -> str:
    if name in _RENAMED:
        notes.remark(path, f"the feature gate {name} is called {_RENAMED[name]} since Kubernetes 1.33")
    return _RENAMED.get(name, name)


def _is_taken(name: str, on: bool, path: str, notes: Notes) -> bool:
    taking = [target for target in TARGETS if name in _GROUPS or _takes(target, name, on)]
    if not taking:
        wanted = f"{name}={str(on).lower()}"
        notes.remark(path, f"the feature gate {name} is left out: no kube-scheduler since {TARGETS[0]} takes {wanted}")
    elif len(taking) < len(TARGETS):
        notes.remark(path, f"the feature gate {name} is for {', '.join(map(str, taking))} only")
    return bool(taking)


def _takes(target: Target, name: str, on: bool) -> bool:
    gate = gates(target.minor).get(name)
    return gate is not None and not (gate.locked and gate.default != on)
