"""The report of a scheduler about the document it runs by, and the part of a document that only a new process can
follow.

A scheduler reports in a condition of its own pod; the operator reads it there. Schedulers of earlier and later builds
than the operator's may be running, so that what is not understood is read as nothing, or as the nearest that is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from scheduler_runtime.catalog.bounds import cut
from scheduler_runtime.config.models import Document

CONDITION = "berth.dev/ConfigLoaded"
LONGEST_ERROR = 4096

_STARTUP_ONLY = frozenset({"leader_election", "client_connection"})
_MESSAGE = re.compile(
    r"(?P<hash>[0-9a-f]{64}) since (?P<at>\S+)"
    r"(?:\n(?:(?P<newest>[0-9a-f]{64}): |(?P<nothing>nothing: ))?(?P<error>.*))?",
    re.DOTALL,
)
"""A scheduler of an earlier build writes "nothing" in place of the hash when the document is missing."""

Verdict = Literal["missing", "refused", "waiting"]
"""The reason why the newest document is not in force: there is none, it cannot be followed, or not yet."""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The document that a scheduler runs by, and what became of a newer one."""

    hash: str
    """The document in force, as of :func:`document_hash`."""
    loaded_at: str
    """The time since when it is in force, as Kubernetes writes times."""
    verdict: Verdict | None = None
    """What became of the newest document; None when this one is the newest."""
    error: str = ""
    """The reason in words; empty without a verdict."""
    newest_hash: str = ""
    """The document that the verdict is about, as of :func:`document_hash`; empty when there is none."""

    @property
    def is_pending(self) -> bool:
        """True if a newer document was read and is not in force: what it lacks may be there later."""
        return bool(self.newest_hash)

    def condition(self) -> dict[str, str]:
        """Return the condition of the scheduler's pod, without the time at which it changed."""
        loaded = f"{self.hash} since {self.loaded_at}"
        if self.verdict is None:
            return {"type": CONDITION, "status": "True", "reason": "Loaded", "message": loaded}
        newest = f"{self.newest_hash}: " if self.newest_hash else ""
        error = cut(self.error, LONGEST_ERROR)
        message = f"{loaded}\n{newest}{error}"
        return {"type": CONDITION, "status": "False", "reason": self.verdict.capitalize(), "message": message}


def read_load_report(conditions: list[Mapping[str, Any]]) -> LoadReport | None:
    """Return the report in the conditions of a scheduler's pod; None when there is none that can be understood."""
    own: Mapping[str, Any] = next((condition for condition in conditions if condition.get("type") == CONDITION), {})
    match = _MESSAGE.fullmatch(str(own.get("message")))
    if match is None:
        return None
    if match["error"] is None:
        return LoadReport(match["hash"], match["at"])
    reason = "Missing" if match["nothing"] else str(own.get("reason"))
    # A reason that only a later build knows is taken as a refusal.
    verdict: Verdict = next((verdict for verdict in get_args(Verdict) if verdict.capitalize() == reason), "refused")
    return LoadReport(match["hash"], match["at"], verdict, match["error"], match["newest"] or "")


def document_hash(text: str, extras: str) -> str:
    """Return SHA-256 of all that a process reads: the document's text and that of ``--extras``."""
    return hashlib.sha256((text + extras).encode()).hexdigest()


def startup_only_fields(document: Document) -> Mapping[str, Any]:
    """Return the fields of ``document`` that take effect only in a new process."""
    fields: Mapping[str, Any] = document.model_dump(by_alias=True, mode="json", include=set(_STARTUP_ONLY))
    return fields


def startup_only_hash(document: Document) -> str:
    """Return SHA-256 of the fields that a running process cannot follow."""
    return hashlib.sha256(json.dumps(startup_only_fields(document), sort_keys=True).encode()).hexdigest()
