"""What an import ends in: objects and remarks, or problems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scheduler_runtime.config import Problem, Problems


@dataclass(frozen=True, slots=True)
class Remark:
    """Something of the input that is not in the objects, or is there with another face."""

    path: str
    """Where in the input; empty for the whole of it."""
    message: str
    """One sentence: what it was, what became of it, what to do."""
    places: tuple[str, ...] = ()
    """Where in the input, when it is said of several places at once; ``path`` is above them all then."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@dataclass(frozen=True, slots=True)
class Imported:
    """SchedulerProfile and PluginConfig objects, and everything they do not say of the input."""

    objects: tuple[dict[str, Any], ...]
    remarks: tuple[Remark, ...]


@dataclass(slots=True)
class Notes:
    """What is to be told about an input, gathered while it is read."""

    remarks: list[Remark] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def remark(self, path: str, message: str, places: tuple[str, ...] = ()) -> None:
        """Tell it, once."""
        remark = Remark(path, message, places)
        if remark not in self.remarks:
            self.remarks.append(remark)

    def refuse(self, path: str, message: str) -> None:
        """The input cannot be imported, because of this among others."""
        self.problems.append(Problem(path, message))

    @property
    def refused(self) -> Problems | None:
        """Everything that is wrong, when anything is."""
        return Problems(tuple(self.problems)) if self.problems else None
