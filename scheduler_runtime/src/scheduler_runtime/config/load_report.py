"""What a scheduler says about the document it runs by, and what of a document only a new process can follow.

A scheduler says it in a condition of its own pod; the operator reads it there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from scheduler_runtime.config.models import Document

CONDITION = "berth.dev/ConfigLoaded"
LONGEST_ERROR = 4096

_FIXED = frozenset({"leader_election", "client_connection"})
_LOADED = re.compile(
    r"(?P<hash>[0-9a-f]{64}) since (?P<at>\S+)"
    r"(?:\n(?:(?P<newest>[0-9a-f]{64}): |(?P<nothing>nothing: ))?(?P<error>.*))?",
    re.DOTALL,
)
"""What a scheduler of an earlier build says begins with "nothing" when the document is missing."""

Verdict = Literal["missing", "refused", "waiting"]
"""Why the newest document is not in force: there is none, it cannot be followed, or not yet."""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The document that a scheduler runs by."""

    hash: str
    """As of :func:`document_hash`."""
    loaded_at: str
    """When it was loaded, as Kubernetes writes times."""
    verdict: Verdict | None = None
    """What became of the newest document; None when this one is the newest."""
    error: str = ""
    """Why; empty without a verdict."""
    newest_hash: str = ""
    """The document that the verdict is about, as of :func:`document_hash`; empty when there is none."""

    def condition(self) -> dict[str, str]:
        """The condition of the scheduler's pod, without the time at which it changed."""
        said = f"{self.hash} since {self.loaded_at}"
        if self.verdict is None:
            return {"type": CONDITION, "status": "True", "reason": "Loaded", "message": said}
        newest = f"{self.newest_hash}: " if self.newest_hash else ""
        message = f"{said}\n{newest}{_cut(self.error)}"
        return {"type": CONDITION, "status": "False", "reason": self.verdict.capitalize(), "message": message}


def read_load_report(conditions: list[Mapping[str, Any]]) -> LoadReport | None:
    """What a scheduler says in the conditions of its pod; None when it says nothing, or nothing that is understood."""
    own: Mapping[str, Any] = next((each for each in conditions if each.get("type") == CONDITION), {})
    said = _LOADED.fullmatch(str(own.get("message")))
    if said is None:
        return None
    if said["error"] is None:
        return LoadReport(said["hash"], said["at"])
    verdict = "missing" if said["nothing"] else _verdict(str(own.get("reason")))
    return LoadReport(said["hash"], said["at"], verdict, said["error"], said["newest"] or "")


def document_hash(text: str, extras: str) -> str:
    """What two documents are told apart by: SHA-256 of all that a process reads."""
    return hashlib.sha256((text + extras).encode()).hexdigest()


def startup_only_fields(document: Document) -> Mapping[str, Any]:
    """What of ``document`` a running process cannot follow, by field: only a new process goes by it."""
    written: Mapping[str, Any] = document.model_dump(by_alias=True, mode="json", include=set(_FIXED))
    return written


def startup_only_hash(document: Document) -> str:
    """SHA-256 of what a running process cannot follow."""
    return hashlib.sha256(json.dumps(startup_only_fields(document), sort_keys=True).encode()).hexdigest()


def _verdict(reason: str) -> Verdict:
    """The verdict of a condition's ``reason``; one that only a later build knows is taken as a refusal."""
    return next((verdict for verdict in get_args(Verdict) if verdict.capitalize() == reason), "refused")


def _cut(error: str) -> str:
    return error if len(error) <= LONGEST_ERROR else f"{error[: LONGEST_ERROR - 1]}…"
