"""What the linter says of files: findings and refusals alike, each with its place, as lines or for programs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scheduler_operator.cli.answers import Refusal
from scheduler_operator.cli.processes import Process
from scheduler_runtime.config import Finding, Severity, Source

REFUSED = "Refused"
"""The code of what kube-scheduler, or the API server, would not take at all."""
_COLOURS = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.NOTE: 36}


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to say about a place in a file."""

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
        """Its file, and its line where that is known."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        """It on one line."""
        return "; ".join(self.text().split("\n    "))

    def text(self, colour: bool = False) -> str:
        """It as a line, as compilers write them, with what to write instead below."""
        severity = f"\033[{_COLOURS[self.severity]}m{self.severity}\033[0m" if colour else str(self.severity)
        path = f"{self.path}: " if self.path else ""
        below = f"\n    {self.suggestion}" if self.suggestion else ""
        return f"{self.where}: {severity}: {path}{self.message} ({self.code}){below}"

    def value(self) -> dict[str, Any]:
        """It as a mapping without what it leaves out."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: str(value) if name == "severity" else value for name, value in fields.items() if value}


def of_process(process: Process) -> list[Remark]:
    """The findings of a process."""
    return [_of_finding(source, finding) for source, finding in process.findings]


def of_refusals(refusals: Iterable[Refusal]) -> list[Remark]:
    """What could not be read at all."""
    return [Remark(each.file, each.line, each.path, REFUSED, Severity.ERROR, each.message) for each in refusals]


def _of_finding(source: Source, finding: Finding) -> Remark:
    return Remark(
        source.name,
        source.line(finding.path),
        finding.path,
        finding.code,
        finding.severity,
        finding.message,
        finding.suggestion,
    )
