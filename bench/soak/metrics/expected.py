"""The expected figures of a process, from other sources than itself, and comparisons with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bench.cluster.process_stats import ProcessState

Amounts = Mapping[tuple[str, ...], float]
"""The requests of pods, by node and resource, in its unit."""
Answers = Mapping[tuple[str, str], int]
"""The number of requests, by method and status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The figures of the API server, its audit log and the kernel while nothing changes."""

    nodes: int
    bound: int
    waiting: int
    gated: int
    bound_by_it: int
    """The number of pods that the process has bound since it was started."""
    bound_perhaps: int = 0
    """The number of further pods that it may have bound: the API server failed, but may have stored the binding."""
    refused: int = 0
    """The number of its bindings that were refused."""
    evicted: int = 0
    """The number of pods that it has deleted."""
    answers: Answers = field(default_factory=dict)
    """Of its writing requests."""
    refusals: int = 0
    """The number of bad documents that it had to refuse."""
    asks: Amounts = field(default_factory=dict)
    before: ProcessState
    """The process before its pages were read."""
    after: ProcessState
    leads: bool


def between(name: str, value: float, least: float, most: float | None = None) -> Iterator[str]:
    """Doubt that ``what`` is ``said`` unless it lies between these; at least ``least``, without ``most``."""
    if value < least or (most is not None and value > most):
        should = f"at least {_short(least)}" if most is None else _short(least)
        more = f" to {_short(most)}" if most is not None and most != least else ""
        yield f"{name} is {_short(value)}, and should be {should}{more}"


def exactly(name: str, value: float, expected: float) -> Iterator[str]:
    """Doubt that ``what`` is ``said`` when it is something else."""
    return between(name, value, expected, expected)


def alike(
    name: str, values: Mapping[tuple[str, ...], float], expected: Mapping[tuple[str, ...], float]
) -> Iterator[str]:
    """Doubt every number of ``said`` that ``is_so`` has another one for."""
    for of in sorted({*values, *expected}):
        yield from exactly(f"{name} of {' '.join(of)}", values.get(of, 0), expected.get(of, 0))


def _short(number: float) -> str:
    return f"{number:.10g}"
