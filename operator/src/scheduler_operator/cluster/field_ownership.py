"""Who else wrote to an object of ours, and how to take it back. Pure: reads managedFields.

Server-side apply repairs the fields that we own. A field that somebody *added* stays: its writer owns it. We
adopt such fields, which is to say that we enter them as our own, and the next apply removes what we do not want.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FIELD_MANAGER = "berth"

Fields = dict[str, Any]

_RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
_SCALE = "scale"


@dataclass(frozen=True, slots=True)
class ForeignManager:
    """A field manager that is not us, and the fields that it wrote."""

    manager: str
    fields: tuple[str, ...]


def foreign_managers(live: Mapping[str, Any]) -> list[ForeignManager]:
    """Who else owns fields of ``live``; the status, and a requested restart, are others' to write."""
    return [ForeignManager(entry["manager"], tuple(_paths(entry["fieldsV1"]))) for entry in _foreign(live)]


def ownership_patch(live: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The JSON patch that makes foreign fields of ``live`` ours; empty when there are none to adopt.

    It holds only for the very object that was read: any other resourceVersion refuses it.
    """
    entries = live["metadata"].get("managedFields", [])
    ours = next((entry for entry in entries if _is_ours(entry)), None)
    taken = [entry for entry in _foreign(live) if not entry.get("subresource")]
    if ours is None or not taken:
        return []
    fields = ours["fieldsV1"]
    for entry in taken:
        fields = _union(fields, entry["fieldsV1"])
    kept = [{**entry, "fieldsV1": fields} if entry is ours else entry for entry in entries if entry not in taken]
    return [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
        {"op": "replace", "path": "/metadata/managedFields", "value": kept},
    ]


def _foreign(live: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        entry
        for entry in live["metadata"].get("managedFields", [])
        if entry["manager"] != FIELD_MANAGER
        and entry.get("subresource", "") in ("", _SCALE)
        and not _only_asks_for_a_restart(entry)
    ]


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return entry["manager"] == FIELD_MANAGER and entry["operation"] == "Apply" and not entry.get("subresource")


def _only_asks_for_a_restart(entry: Mapping[str, Any]) -> bool:
    return all(_RESTARTED_AT in path for path in _paths(entry["fieldsV1"]))


def _union(ours: Fields, theirs: Fields) -> Fields:
    return {
        key: _union(ours.get(key, {}), theirs.get(key, {})) for key in (*ours, *(k for k in theirs if k not in ours))
    }


def _paths(fields: Fields, above: str = "") -> Iterator[str]:
    """The leaves of a fieldsV1, written as a person would: ``spec.containers[name=x].image``."""
    for key, below in fields.items():
        if key == ".":
            continue
        path = above + _step(key, above)
        if any(inner != "." for inner in below):
            yield from _paths(below, path)
        else:
            yield path


def _step(key: str, above: str) -> str:
    kind, _, name = key.partition(":")
    match kind:
        case "k":
            chosen = ",".join(f"{field}={value}" for field, value in json.loads(name).items())
            return f"[{chosen}]"
        case "v" | "i":
            return f"[{name}]"
        case _:
            return f".{name}" if above else name
