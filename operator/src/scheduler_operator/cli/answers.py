"""Results of commands: an answer, or the refusals of the input. Nothing is written before all of it is known."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the process."""

    FINE = 0
    FINDINGS = 1
    REFUSED = 2
    INTERNAL = 70
    NOT_WRITTEN = 74
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The result, for standard output, and remarks for standard error."""

    text: str = ""
    remarks: tuple[str, ...] = ()
    status: ExitCode = ExitCode.FINE


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason why the input cannot be used, with its place."""

    file: str
    message: str
    path: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


class RefusedError(Exception):
    """The input cannot be used."""

    def __init__(self, *refusals: Refusal) -> None:
        self.refusals = refusals
        super().__init__("\n".join(map(str, refusals)))


def raise_if_refused(refusals: Iterable[Refusal]) -> None:
    """Raise RefusedError with all ``refusals``, if there are any."""
    if reasons := tuple(refusals):
        raise RefusedError(*reasons)
