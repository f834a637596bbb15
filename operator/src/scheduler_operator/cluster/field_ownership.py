"""Field ownership of generated objects: finds foreign field managers, and takes over their fields. Pure.

Server-side apply repairs the fields that we own. A field that somebody *added* stays: its writer owns it. We
adopt such fields: managedFields is patched so that they are ours, and the next apply removes those not desired.

Anybody can call himself by our name. We only ever apply, so what that name updated is somebody else's.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FIELD_MANAGER = "berth"
FORCED = {"fieldManager": FIELD_MANAGER, "force": "true"}
"""The query of an apply: of one manager, by force."""

Fields = dict[str, Any]

_RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
_SCALE = "scale"


@dataclass(frozen=True, slots=True)
class ForeignManager:
    """Another field manager, and the fields that it wrote."""

    manager: str
    fields: tuple[str, ...]


def foreign_managers(live: Mapping[str, Any]) -> list[ForeignManager]:
    """Return the others who own fields of ``live``; status and a requested restart are theirs to write."""
    impostor = f"somebody under the name {FIELD_MANAGER}"
    return [
        ForeignManager(
            impostor if entry["manager"] == FIELD_MANAGER else entry["manager"], tuple(_paths(entry["fieldsV1"]))
        )
        for entry in _foreign(live)
    ]


def ownership_patch(live: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the JSON patch that makes foreign fields of ``live`` ours; empty when there are none to adopt.

    The API server accepts the patch only for the same resourceVersion.
    """
    entries = live["metadata"].get("managedFields", [])
    ours = next(filter(_is_ours, entries), None)
    # What was written through a subresource (scale) cannot be adopted: its entry stays, and apply repairs the value.
    adoptable = [entry for entry in _foreign(live) if not entry.get("subresource")]
    if ours is None or not adoptable:
        return []
    fields = ours["fieldsV1"]
    for entry in adoptable:
        fields = _union(fields, entry["fieldsV1"])
    entries = [{**entry, "fieldsV1": fields} if entry is ours else entry for entry in entries if entry not in adoptable]
    return [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
    ]


def _is_ours(entry: Mapping[str, Any]) -> bool:
    written = entry["manager"], entry["operation"], entry.get("subresource", "")
    return written == (FIELD_MANAGER, "Apply", "")


def _foreign(live: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        entry
        for entry in live["metadata"].get("managedFields", [])
        if not _is_ours(entry)
        and entry.get("subresource", "") in ("", _SCALE)
        and any(_RESTARTED_AT not in path for path in _paths(entry["fieldsV1"]))  # kubectl rollout restart stays
    ]


def _union(ours: Fields, theirs: Fields) -> Fields:
    return {
        key: _union(ours.get(key, {}), theirs.get(key, {})) for key in (*ours, *(k for k in theirs if k not in ours))
    }


def _paths(fields: Fields, above: str = "") -> Iterator[str]:
    """Yield the leaves of a fieldsV1 in readable form: ``spec.containers[name=x].image``."""
    for key, below in fields.items():
        if key == ".":
            continue
        kind, _, name = key.partition(":")
        match kind:
            case "k":  # an entry of a list, by its keys
                path = f"{above}[{','.join(f'{field}={value}' for field, value in json.loads(name).items())}]"
            case "v" | "i":  # an entry of a list, by its value or its index
                path = f"{above}[{name}]"
            case _:
                path = f"{above}.{name}" if above else name
        if any(inner != "." for inner in below):
            yield from _paths(below, path)
        else:
            yield path
