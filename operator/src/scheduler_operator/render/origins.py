"""Origins of a document's values: a tree of the same shape, with an origin at every node.

Because the shapes are equal, a patch of the document applied to its tree moves the origins along. The comments of
the rendered text and the paths of problems are both read from it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from scheduler_runtime.config import Problem
from scheduler_runtime.config.problems import Step, joined, path_of, steps_of

_INDEX = re.compile("0|[1-9][0-9]*")
_Way: TypeAlias = "tuple[_Way | None, Step]"


@dataclass(frozen=True, slots=True)
class Origin:
    """The place at which a user wrote a value."""

    label: str
    """The text of the comment beside the value."""
    start: str
    """The path in the user's object at which a value was copied as a whole."""
    profile: str
    """The profile that asked for it."""
    is_whole: bool = False
    """True if the value was computed from that at ``path``, so that nothing in it has a path of its own."""
    way: "_Way | None" = None
    """The rest of the path. Every value has an origin: their paths as texts would take the square of the room."""

    @property
    def path(self) -> str:
        """The path in the user's object; what lies below the value in the document lies below it there."""
        steps: list[Step] = []
        way = self.way
        while way is not None:
            way, step = way
            steps.append(step)
        return joined(self.start, path_of(reversed(steps)))

    def below(self, steps: Iterable[Step]) -> "Origin":
        """Return the origin of what ``steps`` lead to."""
        if self.is_whole:
            return self
        way = self.way
        for step in steps:
            way = (way, step)
        return Origin(self.label, self.start, self.profile, self.is_whole, way)


class Fields(dict[str, Any]):
    """The origins of a mapping, by field."""

    def __init__(self, origin: Origin, fields: dict[str, Any] | None = None) -> None:
        super().__init__(fields or {})
        self.origin = origin


class Items(list[Any]):
    """The origins of a list."""

    def __init__(self, origin: Origin, items: Iterable[Any] = ()) -> None:
        super().__init__(items)
        self.origin = origin


Tree = Fields | Items | Origin


def with_origins(value: Any, origin: Origin) -> Tree:
    """Return the tree of a value that was copied from ``origin``."""
    match value:
        case dict():
            return Fields(origin, {key: with_origins(inner, origin.below([key])) for key, inner in value.items()})
        case list() | tuple():
            return Items(origin, [with_origins(inner, origin.below([index])) for index, inner in enumerate(value)])
    return origin


def replace_subtree(value: Any, tree: Tree | None, origin: Origin) -> Tree:
    """Return the tree of ``value``, which extends that of ``tree``: additions have the ``origin``."""
    match value, tree:
        case dict(), Fields():
            return Fields(
                tree.origin, {key: replace_subtree(inner, tree.get(key), origin) for key, inner in value.items()}
            )
        case ((list() | tuple()), Items()):
            old = [*tree, *([None] * (len(value) - len(tree)))]
            return Items(tree.origin, [replace_subtree(inner, old[index], origin) for index, inner in enumerate(value)])
        case _, Origin():
            return tree
    return with_origins(value, origin)


def only_label(tree: Tree) -> str | None:
    """Return the label of all of ``tree``; None when it has several origins, or is empty."""
    labels = _labels(tree)
    first = next(labels, None)
    return first if all(label == first for label in labels) else None


def _labels(tree: Tree) -> Iterator[str]:
    if isinstance(tree, Origin):
        yield tree.label
        return
    for inner in tree.values() if isinstance(tree, Fields) else tree:
        yield from _labels(inner)


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of a document, and of what overrides removed from it."""

    tree: Fields
    removed: tuple[tuple[tuple[Step, ...], Origin], ...] = field(default=())

    def of(self, path: str) -> Origin:
        """Return the origin of what is at ``path`` in the document, or is missing there."""
        steps = steps_of(path)
        # First what overrides removed: the tree has no node there any more.
        for removed, origin in self.removed:
            if steps[: len(removed)] == removed:
                return origin
        node: Tree = self.tree
        for depth, step in enumerate(steps):
            below: Tree | None = None
            match node, step:
                case Fields(), str():
                    below = node.get(step)
                case Items(), int() if step < len(node):
                    below = node[step]
            if below is None:
                return _origin(node).below(steps[depth:])
            node = below
        return _origin(node)

    def at_source_path(self, problem: Problem) -> tuple[str, Problem]:
        """Return the profile that a problem of the document belongs to, and the problem at its author's path."""
        origin = self.of(problem.path)
        return origin.profile, Problem(origin.path, problem.message)


def _origin(node: Tree) -> Origin:
    return node if isinstance(node, Origin) else node.origin


def pointer_steps(pointer: str, document: Any) -> tuple[Step, ...]:
    """Return the steps of a JSON pointer into ``document``; a number is an index only where there is a list."""
    steps: list[Step] = []
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")  # RFC 6901, section 4: in this order
        step: Step = int(token) if isinstance(document, list) and _INDEX.fullmatch(token) else token
        steps.append(step)
        try:
            document = document[step]
        except (LookupError, TypeError):
            document = None
    return tuple(steps)
