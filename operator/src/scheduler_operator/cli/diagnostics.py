"""Diagnostics: findings and refusals, each with its place in a file, as lines or for programs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scheduler_operator.cli.answers import Refusal
from scheduler_operator.cli.processes import SchedulerDocument
from scheduler_runtime.config import Severity

REFUSED = "Refused"
"""The code of what kube-scheduler, or the API server, would refuse."""
_COLOURS = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.NOTE: 36}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding or a refusal at a place in a file."""

    file: str
    line: int | None
    path: str
    code: str
    severity: Severity
    message: str
    suggestion: str = ""

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    @property
    def where(self) -> str:
        """The file, with the line where that is known."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        """Return the diagnostic on one line."""
        return "; ".join(self.text().split("\n    "))

    def text(self, colour: bool = False) -> str:
        """Return the diagnostic as compilers write them, with the suggestion on a line below."""
        severity = f"\033[{_COLOURS[self.severity]}m{self.severity}\033[0m" if colour else str(self.severity)
        path = f"{self.path}: " if self.path else ""
        below = f"\n    {self.suggestion}" if self.suggestion else ""
        return f"{self.where}: {severity}: {path}{self.message} ({self.code}){below}"

    def value(self) -> dict[str, Any]:
        """Return the diagnostic as a mapping, without empty fields."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: str(value) if name == "severity" else value for name, value in fields.items() if value}


def process_diagnostics(process: SchedulerDocument) -> list[Diagnostic]:
    """Return the findings of a process as diagnostics."""
    return [
        Diagnostic(
            source.name,
            source.line(finding.path),
            finding.path,
            finding.code,
            finding.severity,
            finding.message,
            finding.suggestion,
        )
        for source, finding in process.findings
    ]


def refusal_diagnostics(refusals: Iterable[Refusal]) -> list[Diagnostic]:
    """Return refusals as diagnostics."""
    return [
        Diagnostic(refusal.file, refusal.line, refusal.path, REFUSED, Severity.ERROR, refusal.message)
        for refusal in refusals
    ]
