"""What a linter says of a document that kube-scheduler accepts: values, one for each place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is: an *error* does not work, a *warning* hardly does what was meant, a *note* is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return tuple(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which a valid document does not do what it says."""

    code: str
    severity: Severity
    path: str
    message: str
    suggestion: str = ""
    """What to write instead, as a sentence."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message} ({self.code})" if self.path else f"{self.message} ({self.code})"

    def at(self, path: str) -> Finding:
        """The same finding at another path: the place where its author wrote it."""
        return replace(self, path=path)
