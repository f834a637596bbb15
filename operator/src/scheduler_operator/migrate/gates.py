"""``--feature-gates`` of any age: which of them a kube-scheduler that is known still takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from scheduler_operator.migrate.outcome import Notes
from scheduler_operator.migrate.targets import TARGETS
from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.gates import gates_of

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
        return False
    if name in _GROUPS or len(taking) == len(TARGETS):
        return True
    taken_by, refused_by = _listed(taking), _listed([target for target in TARGETS if target not in taking])
    if all(gates_of(target.minor)[name].locked for target in taking):
        message = (
            f"the feature gate {name} is left out: on Kubernetes {taken_by} it is {str(on).lower()} in any case, and "
        )
        notes.remark(path, f"{message}kube-scheduler of {refused_by} refuses to start with it")
        return False
    message = f"the feature gate {name} is kept, and right on Kubernetes {taken_by}; on {refused_by} a profile with "
    notes.remark(
        path, f"{message}{name}={str(on).lower()} is refused: delete it from spec.scheduler.featureGates there"
    )
    return True


def _listed(targets: Sequence[Target]) -> str:
    return " and ".join(target.minor for target in targets)


def _takes(target: Target, name: str, on: bool) -> bool:
    gate = gates_of(target.minor).get(name)
    return gate is not None and not (gate.locked and gate.default != on)
