"""What upstream's scheduler of each minor version enables by default, as data: a module for each.

To add a version: write its module as the difference to the one before, its gates with ``tests/oracle/read_gates.py``,
and its name in ``KNOWN`` of ``target.py``; the oracle then says where it still differs from the real one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scheduler_runtime.catalog.kubernetes_version import Version
from scheduler_runtime.catalog.target import Target


@dataclass(frozen=True, slots=True)
class GatedPlugin:
    """A plugin that is enabled by default while a feature gate is on."""

    gate: str
    name: str
    weight: int = 0
    before: str = ""
    """The plugin in front of which it stands; empty for the end."""


@dataclass(frozen=True, slots=True)
class DefaultSet:
    """One minor version: the plugins enabled by default and the points of every in-tree plugin."""

    minor: str
    always: tuple[tuple[str, int], ...]
    """Name and weight in upstream's order. Weight 0 means that none is written, which counts as 1 at score."""
    gated: tuple[GatedPlugin, ...]
    """What is added to these while its gate is on, one after the other."""
    extends: Mapping[str, tuple[str, ...]]
    """The extension points each plugin of this version has, whether it is enabled by default or not."""
    points: tuple[str, ...]
    """The extension points that a document of this version may name, multiPoint aside."""
    without_default_args: frozenset[str] = field(default=frozenset())
    """Points whose own plugins get no default arguments, an oversight of upstream's."""

    @property
    def multi_point(self) -> tuple[tuple[str, int], ...]:
        """The default plugins while every gate has its default."""
        return self.default_plugins(Target(Version.parse(self.minor)))

    def default_plugins(self, target: Target) -> tuple[tuple[str, int], ...]:
        """The plugins enabled by default, name and weight, with the gates of ``target``."""
        found = list(self.always)
        for plugin in self.gated:
            if target.enabled(plugin.gate):
                names = [name for name, _ in found]
                at = names.index(plugin.before) if plugin.before else len(names)
                found.insert(at, (plugin.name, plugin.weight))
        return tuple(found)

    def points_in_order(self) -> Iterator[str]:
        """The points of a document, multiPoint included."""
        yield from self.points
        yield "multiPoint"
