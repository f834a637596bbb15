"""Decisions that deliberately differ from kube-scheduler's. Anything else is a mistake of ours."""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.deciding.making.directed import (
    Make,
    a_port_is_bound_twice,
    a_score_wraps_around,
    an_image_comes_later,
)


@dataclass(frozen=True, slots=True)
class Exempt:
    """One difference, and its reason."""

    what: str
    why: str
    make: Make
    """A cluster that shows it. Those that are made up by chance stay clear of it."""


EXCEPTIONS = (
    Exempt(
        "the number of nodes that have an image, for ImageLocality",
        "the number is available",
        an_image_comes_later,
    ),
    Exempt(
        "a port of a node that two pods bind although they must not, when one of them goes",
        "the other pod still uses it",
        a_port_is_bound_twice,
    ),
    Exempt(
        "a score out of its range, because amounts beyond 64 bits wrapped around",
        "one pod with such amounts on a node must not keep all others waiting",
        a_score_wraps_around,
    ),
)
