"""What a scheduler says about the document it runs by, and what of a document only a new process can follow.

A scheduler says it in a condition of its own pod; the operator reads it there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .models import Document

CONDITION = "berth.dev/ConfigLoaded"
LONGEST_ERROR = 4096

_FIXED = frozenset({"leader_election", "client_connection"})
_LOADED = re.compile(
    r"(?P<hash>[0-9a-f]{64}) since (?P<at>\S+)(?:\n(?P<refused>[0-9a-f]{64}|nothing): (?P<error>.*))?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The document that a scheduler runs by."""

    hash: str
    """As of :func:`hash_of`."""
    at: str
    """When it was loaded, as Kubernetes writes times."""
    error: str = ""
    """Why the newest document is another, and was refused; empty when this one is the newest."""
    refused: str = ""
    """What was refused, as of :func:`hash_of`; empty also when there is an error because there is no document."""

    def condition(self) -> dict[str, str]:
        """The condition of the scheduler's pod, without the time at which it changed."""
        said = f"{self.hash} since {self.at}"
        if not self.error:
            return {"type": CONDITION, "status": "True", "reason": "Loaded", "message": said}
        refused = f"{self.refused or 'nothing'}: {_cut(self.error)}"
        return {"type": CONDITION, "status": "False", "reason": "Refused", "message": f"{said}\n{refused}"}


def loaded(conditions: list[Mapping[str, Any]]) -> Loaded | None:
    """What a scheduler says in the conditions of its pod; None when it says nothing, or nothing that is understood."""
    message = next((each.get("message") for each in conditions if each.get("type") == CONDITION), None)
    said = _LOADED.fullmatch(str(message))
    if said is None:
        return None
    refused = "" if said["refused"] in (None, "nothing") else said["refused"]
    return Loaded(said["hash"], said["at"], said["error"] or "", refused)


def hash_of(text: str, extras: str) -> str:
    """What two documents are told apart by: SHA-256 of all that a process reads."""
    return hashlib.sha256((text + extras).encode()).hexdigest()


def fixed(document: Document) -> Mapping[str, Any]:
    """What of ``document`` a running process cannot follow, by field: only a new process goes by it."""
    written: Mapping[str, Any] = document.model_dump(by_alias=True, mode="json", include=set(_FIXED))
    return written


def fixed_hash(document: Document) -> str:
    """SHA-256 of what a running process cannot follow."""
    return hashlib.sha256(json.dumps(fixed(document), sort_keys=True).encode()).hexdigest()


def _cut(error: str) -> str:
    return error if len(error) <= LONGEST_ERROR else f"{error[: LONGEST_ERROR - 1]}…"
