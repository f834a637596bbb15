"""Which images the nodes have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from scheduler_runtime.state.objects import ContainerImage
from scheduler_runtime.state.table.columns import Column, Mask


@dataclass(slots=True, eq=False)
class Image:
    """An image that some node has. Its size is what the first node that had it said."""

    size: int
    nodes: set[str] = field(default_factory=set)


class Images:
    """The images of all nodes, by name. The rows that have one are written down once somebody asked for them."""

    def __init__(self, new_column: Callable[[type], Column], row: Callable[[str], int | None]) -> None:
        """``row`` tells where the node of a name is."""
        self._new_column = new_column
        self._row = row
        self._images: dict[str, Image] = {}
        self._columns: dict[str, Column] = {}

    def __iter__(self) -> Iterator[Column]:
        yield from self._columns.values()

    def find(self, name: str) -> Image | None:
        """The image called ``name``, if some node has it."""
        return self._images.get(name)

    def rows(self, name: str) -> Mask:
        """The nodes that have the image called ``name``, which is one that some node has."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._new_column(np.bool_)
            rows = (self._row(node) for node in self._images[name].nodes)
            column.all[[row for row in rows if row is not None]] = True
        return column.shown

    def add(self, node: str, row: int, images: Iterable[ContainerImage]) -> None:
        """The node in ``row`` has ``images``."""
        for name, size in _sizes(images).items():
            image = self._images.get(name)
            if image is None:
                image = self._images[name] = Image(size)
            image.nodes.add(node)
            if name in self._columns:
                self._columns[name].all[row] = True

    def remove(self, node: str, row: int, images: Iterable[ContainerImage]) -> None:
        """The node in ``row`` does not have ``images`` any more."""
        for name in _sizes(images):
            image = self._images[name]
            image.nodes.remove(node)
            if name in self._columns:
                self._columns[name].all[row] = False
            if not image.nodes:
                del self._images[name]
                self._columns.pop(name, None)


def _sizes(images: Iterable[ContainerImage]) -> Mapping[str, int]:
    """Each name once, with the size of the first image that has it."""
    sizes: dict[str, int] = {}
    for image in images:
        for name in image.names:
            sizes.setdefault(name, image.size_bytes)
    return sizes
