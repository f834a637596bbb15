"""Where each value of a document came from: a tree of the same shape, with an origin at every node.

Because the shapes are equal, a patch of the document applied to its tree moves the origins along. The comments of
the rendered text and the paths of problems are both read from it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scheduler_runtime.config import Problem
from scheduler_runtime.config.paths import Step, joined, path_of, steps_of


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote a value, and where."""

    label: str
    """What a comment says."""
    path: str
    """Where its author wrote it; what lies below it in the document lies below it there."""
    profile: str
    """The profile that asked for it."""
    is_whole: bool = False
    """Whether nothing lies below ``path``, because the value was made of it and not copied."""

    def below(self, steps: Iterable[Step]) -> "Origin":
        """The origin of what ``steps`` lead to."""
        if self.is_whole:
            return self
        return replace(self, path=joined(self.path, path_of(steps)))


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
    """The tree of a value that was copied from ``origin`` as it stands."""
    match value:
        case dict():
            return Fields(origin, {key: with_origins(inner, origin.below([key])) for key, inner in value.items()})
        case list() | tuple():
            return Items(origin, [with_origins(inner, origin.below([index])) for index, inner in enumerate(value)])
    return origin


def replace_subtree(value: Any, tree: Tree | None, origin: Origin) -> Tree:
    """The tree of ``value``, which grew out of that of ``tree``: what is not in it has its ``origin``."""
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
    """What a comment on all of ``tree`` would say; None where it came from several places, or is empty."""
    labels = _labels(tree)
    first = next(labels, None)
    return first if all(each == first for each in labels) else None


def _labels(tree: Tree) -> Iterator[str]:
    if isinstance(tree, Origin):
        yield tree.label
        return
    for inner in tree.values() if isinstance(tree, Fields) else tree:
        yield from _labels(inner)


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of a document, and of what was taken out of it."""

    tree: Fields
    removed: tuple[tuple[tuple[Step, ...], Origin], ...] = field(default=())

    def of(self, path: str) -> Origin:
        """Where its author has to look for what is at ``path``, or is missing there."""
        steps = steps_of(path)
        for taken, origin in self.removed:
            if steps[: len(taken)] == taken:
                return origin
        node: Tree = self.tree
        for depth, step in enumerate(steps):
            below = _child(node, step)
            if below is None:
                return _origin(node).below(steps[depth:])
            node = below
        return _origin(node)

    def as_written(self, problem: Problem) -> tuple[str, Problem]:
        """The profile that a problem of the document belongs to, and the problem at its author's path."""
        origin = self.of(problem.path)
        return origin.profile, Problem(origin.path, problem.message)


def _origin(node: Tree) -> Origin:
    return node if isinstance(node, Origin) else node.origin


def _child(node: Tree, step: Step) -> Tree | None:
    match node, step:
        case Fields(), str():
            found: Tree | None = node.get(step)
            return found
        case Items(), int() if step < len(node):
            item: Tree = node[step]
            return item
    return None


def pointer_steps(pointer: str, document: Any) -> tuple[Step, ...]:
    """The steps of a JSON pointer into ``document``; a number is an index only where there is a list."""
    steps: list[Step] = []
    for token in _tokens(pointer):
        step: Step = int(token) if isinstance(document, Sequence) and token.isdigit() else token
        steps.append(step)
        document = _inside(document, step)
    return tuple(steps)


def _tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _inside(value: Any, step: Step) -> Any:
    try:
        return value[step]
    except (LookupError, TypeError):
        return None
