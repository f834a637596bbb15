"""What is known of a process from others than itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bench.soak.proc_stats import Seen

Amounts = Mapping[tuple[str, ...], float]
"""What pods ask for, by their node and the resource, in its unit."""
Answers = Mapping[tuple[str, str], int]
"""How many requests were answered, by their method and the status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the API server, its audit log and the kernel show while nothing changes."""

    nodes: int
    bound: int
    waiting: int
    gated: int
    bound_by_it: int
    """How many pods the process has bound since it was started."""
    bound_perhaps: int = 0
    """How many more it has bound perhaps: the API server gave up, but may have done it."""
    refused: int = 0
    """How many of its bindings were answered otherwise."""
    evicted: int = 0
    """How many pods it has deleted."""
    answers: Answers = field(default_factory=dict)
    """Of its requests that change something."""
    refusals: int = 0
    """How many bad documents it was given."""
    asks: Amounts = field(default_factory=dict)
    before: Seen
    """The process before it was asked."""
    after: Seen
    leads: bool


def between(what: str, said: float, least: float, most: float | None = None) -> Iterator[str]:
    """Doubt that ``what`` is ``said`` unless it lies between these; at least ``least``, without ``most``."""
    if said < least or (most is not None and said > most):
        should = f"at least {_short(least)}" if most is None else _short(least)
        more = f" to {_short(most)}" if most is not None and most != least else ""
        yield f"{what} is {_short(said)}, and should be {should}{more}"


def exactly(what: str, said: float, is_so: float) -> Iterator[str]:
    """Doubt that ``what`` is ``said`` when it is something else."""
    return between(what, said, is_so, is_so)


def alike(what: str, said: Mapping[tuple[str, ...], float], is_so: Mapping[tuple[str, ...], float]) -> Iterator[str]:
    """Doubt every number of ``said`` that ``is_so`` has another one for."""
    for of in sorted({*said, *is_so}):
        yield from exactly(f"{what} of {' '.join(of)}", said.get(of, 0), is_so.get(of, 0))


def _short(number: float) -> str:
    return f"{number:.10g}"
