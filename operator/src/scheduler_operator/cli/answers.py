"""What a command hands back: nothing is written before all of it is known."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Status(IntEnum):
    """How the process ends, for whoever called it from a script."""

    FINE = 0
    FINDINGS = 1
    REFUSED = 2
    INTERNAL = 70
    NOT_WRITTEN = 74
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Answer:
    """The result, for standard output, and what to remark on beside it."""

    text: str = ""
    remarks: tuple[str, ...] = ()
    status: Status = Status.FINE


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that keeps the input from being used, and its place."""

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


def or_refuse(refusals: Iterable[Refusal]) -> None:
    """Go on only if there are no ``refusals``."""
    if found := tuple(refusals):
        raise RefusedError(*found)
