"""Container images that the nodes have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from scheduler_runtime.state.objects import ContainerImage
from scheduler_runtime.state.table.columns import Column, Mask


@dataclass(slots=True, eq=False)
class Image:
    """An image that some node has.

    Its size is the one that the first node reported, as in upstream's cache (addNodeImageStates).
    """

    size: int
    nodes: set[str] = field(default_factory=set)


class Images:
    """The images of all nodes, by name. The rows that have an image are written once they have been asked for."""

    def __init__(self, new_column: Callable[[type], Column], rows: Mapping[str, int]) -> None:
        """``rows``: each node's row by its name."""
        self._new_column = new_column
        self._rows_by_node = rows
        self._images: dict[str, Image] = {}
        self._columns: dict[str, Column] = {}

    def __iter__(self) -> Iterator[Column]:
        yield from self._columns.values()

    def get(self, name: str) -> Image | None:
        """The image called ``name``; None when no node has it."""
        return self._images.get(name)

    def rows(self, name: str) -> Mask:
        """The nodes that have the image called ``name``. Raises KeyError when no node has it."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._new_column(np.bool_)
            rows = (self._rows_by_node.get(node) for node in self._images[name].nodes)
            column.writable[[row for row in rows if row is not None]] = True
        return column.values

    def add(self, node: str, row: int, images: Iterable[ContainerImage]) -> None:
        """Count ``images`` for the node in ``row``."""
        for name, size in _sizes(images).items():
            image = self._images.get(name)
            if image is None:
                image = self._images[name] = Image(size)
            image.nodes.add(node)
            if name in self._columns:
                self._columns[name].writable[row] = True

    def remove(self, node: str, row: int, images: Iterable[ContainerImage]) -> None:
        """Take back what :meth:`add` counted for the node in ``row``."""
        for name in _sizes(images):
            image = self._images[name]
            image.nodes.remove(node)
            if name in self._columns:
                self._columns[name].writable[row] = False
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
