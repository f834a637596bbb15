"""Where a decision is deliberately another one than kube-scheduler's. Anything else is a mistake of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exempt:
    """One difference, and its reason."""

    what: str
    why: str
    shows: str
    """How the comparison words it; a regular expression."""


EXCEPTIONS: tuple[Exempt, ...] = ()


def exempt(difference: str) -> bool:
    """Whether a difference is meant."""
    return any(re.search(each.shows, difference) for each in EXCEPTIONS)
