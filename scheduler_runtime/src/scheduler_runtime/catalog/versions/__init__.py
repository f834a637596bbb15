"""What upstream's scheduler of each minor version enables by default, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DefaultSet:
    """One minor version: the plugins enabled by default and the points of every in-tree plugin."""

    minor: str
    multi_point: tuple[tuple[str, int], ...]
    """Name and weight in upstream's order. Weight 0 means that none is written, which counts as 1 at score."""
    extends: Mapping[str, tuple[str, ...]]
    """The extension points each plugin of this version has, whether it is enabled by default or not."""
    points: tuple[str, ...]
    """The extension points that a document of this version may name, multiPoint aside."""
