"""Codes, findings, and the checks that report them.

A code is the name of a kind of finding; authors allow findings by it, so that it never changes. A check is a function
for one code that yields the places where the code applies. Its docstring is what users read about the code: the first
paragraph is the code's sentence, the second its help. ``docs/findings.md`` repeats both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, TypeVar

from scheduler_runtime.catalog.bounds import MAX_MESSAGE, cut
from scheduler_runtime.catalog.masking import masked
from scheduler_runtime.config.problems import joined

Input = TypeVar("Input")
"""The input of a check: a document, a profile of it, or the plugins that a profile comes to (``inputs``)."""


class Severity(StrEnum):
    """The weight of a finding: an *error* does not work, a *warning* hardly does what was meant, a *note* informs."""

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
    """The remedy, mostly as text to write into the document: ``{name: NodeAffinity, weight: 2}, or remove this entry``.

    ``tests/support/suggestions.py`` can follow each of them, and shows that they help.
    """

    def __post_init__(self) -> None:
        for field in ("message", "suggestion"):
            text = getattr(self, field)
            if len(text) > MAX_MESSAGE or "://" in text:
                object.__setattr__(self, field, cut(masked(text)))

    def __str__(self) -> str:
        return f"{self.path}: {self.message} ({self.code})" if self.path else f"{self.message} ({self.code})"

    def at(self, path: str) -> Finding:
        """Return the same finding at another path: the place where its author wrote it."""
        return replace(self, path=path)


@dataclass(frozen=True, slots=True)
class Code:
    """The name of a kind of finding, and the texts about it."""

    name: str
    severity: Severity
    sentence: str
    """An explanation for somebody who has never met the code."""
    help: str
    """The remedy in general."""
    since: str = ""
    """The first Kubernetes version that it is about; empty when it is about all of them."""
    refused: bool = False
    """True if kube-scheduler does not even start with such a document."""


@dataclass(frozen=True, slots=True)
class Match:
    """One place at which a check applies, with a message about the values there and a suggestion.

    Without a suggestion, because something else is wrong too and nothing that could be written would help, the finding
    repeats the help of its code.
    """

    path: str
    message: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Check(Generic[Input]):
    """A code and the function that finds the places where it applies."""

    code: Code
    find_matches: Callable[[Input], Iterable[Match]]

    def finding(self, match: Match, prefix: str = "") -> Finding:
        """Return the finding of a ``match``, whose path begins at ``prefix`` of the document."""
        first_sentence = self.code.help.partition(". ")[0].removesuffix(".")
        suggestion = match.suggestion or first_sentence[:1].lower() + first_sentence[1:]
        return Finding(self.code.name, self.code.severity, joined(prefix, match.path), match.message, suggestion)


def check(
    name: str, severity: Severity, *, refused: bool = False
) -> Callable[[Callable[[Input], Iterable[Match]]], Check[Input]]:
    """Make a function the check of a new code, which is called ``name`` and explained by the function's docstring.

    ``refused`` is for documents with which kube-scheduler does not even start. Raises ValueError without a docstring of
    two paragraphs.
    """

    def decorate(function: Callable[[Input], Iterable[Match]]) -> Check[Input]:
        paragraphs = [" ".join(paragraph.split()) for paragraph in (function.__doc__ or "").split("\n\n")]
        sentence, help_text = paragraphs  # ValueError: the docstring has to have these two paragraphs
        return Check(Code(name, severity, sentence, help_text, refused=refused), function)

    return decorate


def check_of(code: Code) -> Callable[[Callable[[Input], Iterable[Match]]], Check[Input]]:
    """Make a function a further check of a ``code`` that exists: the same mistake, made somewhere else."""
    return lambda function: Check(code, function)
