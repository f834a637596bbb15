"""The report of a scheduler about plugins and extenders that fail in nearly every attempt.

It is a condition of the scheduler's own pod, like ``load_report``; the operator reads it there. A line stands for each
that fails, and what is not understood is left out: schedulers of other builds than the operator's may be running, and
whatever is in a pod's status was written by somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from scheduler_runtime.catalog.bounds import cut
from scheduler_runtime.catalog.masking import masked

CONDITION = "berth.dev/Working"
MAX_FAILURES = 8
"""How many of those that fail are told."""
LONGEST_TEXT = 400
_LONGEST_NAME = 253

FailingKind = Literal["plugin", "extender", "ignored extender"]
"""What fails. An extender is ignored where pods are placed without its answer."""
_KINDS: tuple[FailingKind, ...] = get_args(FailingKind)
_LINE = re.compile(rf"(?P<profile>\S+): (?P<kind>{'|'.join(_KINDS)}) (?P<name>\S+): (?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Failure:
    """A plugin or an extender that fails in nearly every attempt of a profile."""

    profile: str
    kind: FailingKind
    name: str
    text: str
    """The error, as it was when this began."""

    @property
    def is_blocking(self) -> bool:
        """True if no pod is placed, as far as this plugin or extender has a say."""
        return self.kind != "ignored extender"

    def __str__(self) -> str:
        text = cut(masked(" ".join(self.text.split())), LONGEST_TEXT)
        return f"{_word(self.profile)}: {self.kind} {_word(self.name)}: {text}"


def failure_condition(failures: Sequence[Failure]) -> dict[str, str]:
    """Return the condition of the scheduler's pod, without the time at which it changed."""
    if not failures:
        message = "no plugin and no extender fails in nearly every attempt"
        return {"type": CONDITION, "status": "True", "reason": "Working", "message": message}
    kinds = {"Plugins" if failure.kind == "plugin" else "Extenders" for failure in failures}
    lines = [str(failure) for failure in failures[:MAX_FAILURES]]
    if left_out := len(failures) - len(lines):
        lines.append(f"and {left_out} more")
    reason = f"{'And'.join(sorted(kinds, reverse=True))}Failing"
    return {"type": CONDITION, "status": "False", "reason": reason, "message": "\n".join(lines)}


def read_failures(conditions: Sequence[Mapping[str, Any]]) -> tuple[Failure, ...]:
    """Return what fails by the conditions of a scheduler's pod."""
    own: Mapping[str, Any] = next((condition for condition in conditions if condition.get("type") == CONDITION), {})
    if own.get("status") != "False":
        return ()
    matches = map(_LINE.fullmatch, str(own.get("message")).splitlines()[:MAX_FAILURES])
    return tuple(
        Failure(match["profile"], kind, cut(match["name"], _LONGEST_NAME), cut(match["text"], LONGEST_TEXT))
        for match in matches
        if match is not None
        for kind in _KINDS
        if kind == match["kind"]
    )


def _word(text: str) -> str:
    """Return a name as one word."""
    return cut("_".join(text.split()), _LONGEST_NAME)
