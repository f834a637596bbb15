"""Single places that count against the house, each with file, line and text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.house.measures import repeated_class_names
from tools.house.module import Docstring
from tools.house.tree import NO_ROOM, Group

RIDDLE_OPENINGS = frozenset(
    "what whatever who whoever whom whose whether how that where when whenever wherever why which".split()  # noqa: SIM905 - shorter than a list
)
"""First words of a docstring that asks or paraphrases instead of naming the thing."""

SMALL_MODULE_LINES = 50
ROOT_MODULES = frozenset(["__init__", "__main__"])


@dataclass(frozen=True, slots=True)
class Finding:
    """A place in a file and what is there."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.text}"


def one_caller(group: Group) -> Iterator[Finding]:
    """Private functions that their module mentions once: candidates to be folded into the caller."""
    for module in group.modules:
        for function in module.functions:
            if function.has_one_caller:
                handed_over = "" if function.is_called else " (handed over, not called)"
                yield Finding(module.path, function.line, f"{function.name}, {function.length} lines{handed_over}")


def words(group: Group) -> Iterator[Finding]:
    """Identifiers that contain one of the vague words."""
    for module in group.modules:
        for mention in module.vague_identifiers:
            yield Finding(module.path, mention.line, mention.text)


def docstrings(group: Group) -> Iterator[Finding]:
    """Module docstrings that are missing or break the rule of the first sentence."""
    for module in group.modules:
        for docstring in module.docstrings:
            if not docstring.owner and (fault := docstring_fault(docstring)):
                yield Finding(module.path, docstring.line, fault)


def openings(group: Group) -> Iterator[Finding]:
    """Docstrings of classes and functions that break the rule of the first sentence."""
    for module in group.modules:
        for docstring in module.docstrings:
            if docstring.owner and (fault := docstring_fault(docstring)):
                yield Finding(module.path, docstring.line, f"{docstring.owner}: {fault}")


def docstring_fault(docstring: Docstring) -> str | None:
    """Return how the first sentence breaks the rule: no opening like "what" or "whether", and a period at its end."""
    paragraph = " ".join(docstring.text.partition("\n\n")[0].split())
    if not paragraph:
        return "no docstring"
    opening = re.match(r"\W*(\w+)", paragraph)
    if opening and opening[1].lower() in RIDDLE_OPENINGS:
        return f'begins with "{opening[1]}": {paragraph}'
    if not re.search(r"\.(\W|$)", paragraph):
        return f"no period at the end of the first sentence: {paragraph}"
    return None


def late_attributes(group: Group) -> Iterator[Finding]:
    """Attributes set on an object of another package of the group, and callbacks (``on_…``) set on any other object.

    An attribute is another package's if classes of the group declare it, but none in the folder of the assignment.
    """
    folders: dict[str, set[Path]] = {}
    for module in group.modules:
        for name in module.declared_attributes:
            folders.setdefault(name, set()).add(module.path.parent)
    for module in group.modules:
        for mention in module.attributes_set_on_others:
            name = mention.text.rpartition(".")[2]
            is_foreign = name in folders and module.path.parent not in folders[name]
            if is_foreign or name.startswith("on_"):
                yield Finding(module.path, mention.line, mention.text)


def class_names(group: Group) -> Iterator[Finding]:
    """Public classes whose name another module of the group has as well: one word for two things."""
    repeated = repeated_class_names(group.modules)
    mentions = [(mention, module) for module in group.modules for mention in module.classes if mention.text in repeated]
    for mention, module in sorted(mentions, key=lambda pair: pair[0].text):
        yield Finding(module.path, mention.line, mention.text)


def layout(group: Group) -> Iterator[Finding]:
    """Modules that stand beside the rooms of a package instead of in one of them."""
    for module in group.modules:
        if group.room(module) == NO_ROOM and module.path.stem not in ROOT_MODULES:
            yield Finding(module.path, 1, module.path.stem)


def small_modules(group: Group) -> Iterator[Finding]:
    """Modules that a reader opens for a few lines only."""
    for module in group.modules:
        if module.path.stem not in ROOT_MODULES and module.lines < SMALL_MODULE_LINES:
            yield Finding(module.path, 1, f"{module.lines} lines")


LISTS: Mapping[str, Callable[[Group], Iterator[Finding]]] = {
    "one-caller": one_caller,
    "words": words,
    "docstrings": docstrings,
    "openings": openings,
    "late": late_attributes,
    "class-names": class_names,
    "layout": layout,
    "small": small_modules,
}
