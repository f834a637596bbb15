"""What a check is: a stable code, and a function that tells where it applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from scheduler_runtime.config.findings import Finding, Severity
from scheduler_runtime.config.problems import joined

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Code:
    """The name of a kind of finding. Names never change; they are what an author allows."""

    name: str
    severity: Severity
    sentence: str
    """What it is, for somebody who has never seen it."""
    help: str
    """What to do about it."""
    since: str = ""
    """The first Kubernetes version that it is about; empty when it is about all of them."""
    refused: bool = False
    """Whether kube-scheduler does not even start with such a document."""

    @property
    def in_a_line(self) -> str:
        """The first sentence of the help, as a suggestion is written."""
        first = self.help.partition(". ")[0].removesuffix(".")
        return first[:1].lower() + first[1:]


@dataclass(frozen=True, slots=True)
class Match:
    """One place at which a check applies, what is the matter there and what to write instead.

    Where nothing that could be written mends it, because something else is wrong too, the help of its code is said.
    """

    path: str
    message: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Check(Generic[Subject]):
    """A code and the function that looks for it."""

    code: Code
    look: Callable[[Subject], Iterable[Match]]

    def findings(self, subject: Subject, prefix: str = "") -> Iterator[Finding]:
        """Every place in ``subject``, which is found at ``prefix``, where the code applies."""
        for told in self.look(subject):
            path = joined(prefix, told.path)
            suggestion = told.suggestion or self.code.in_a_line
            yield Finding(self.code.name, self.code.severity, path, told.message, suggestion)


def check(code: Code) -> Callable[[Callable[[Subject], Iterable[Match]]], Check[Subject]]:
    """Make a function that tells the places of ``code`` into a check."""
    return lambda look: Check(code, look)
