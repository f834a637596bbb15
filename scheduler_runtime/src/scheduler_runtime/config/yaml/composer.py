"""Events of PyYAML's parser to values with the lines on which they stand, with a bound on the work.

Every repeated key and every word that cannot be read is reported, and reading goes on. A structure that is too deep or
expands too far ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from scheduler_runtime.catalog.bounds import MAX_DEPTH, MAX_PROBLEMS, MAX_VALUES
from scheduler_runtime.config.problems import Problem, path_of
from scheduler_runtime.config.yaml.scalars import ScalarError, key_of, value_of

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """The line of a value, and the positions of the values below."""

    line: int
    below: Mapping[str, SourcePosition] | Sequence[SourcePosition] | None = None
    """By field of a mapping, by index of a list; None for a single value."""


@dataclass(frozen=True, slots=True)
class _Node:
    value: Any
    position: SourcePosition
    size: int = 1
    """The number of values in it, aliases expanded."""


class Composer:
    """The documents of one text. Used once: the events are read as they come."""

    def __init__(self, text: str) -> None:
        self.events: Iterator[Any] = yaml.parse(text, Loader=_Loader)
        self.problems: list[Problem] = []
        """Mistakes at one place that do not keep the rest from being read."""
        self.anchors: dict[str, _Node | None] = {}
        self.path: list[str | int] = []
        self.size = 0

    def documents(self) -> Iterator[tuple[int, Any, SourcePosition]]:
        """Yield for each document its first line, counted from 0, its value and the positions in it.

        Raises YAMLError for a text that is not YAML, not YAML 1.1, or too large.
        """
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors.clear()
                start: Any = event.start_mark
                if event.version not in (None, (1, 1)):
                    raise yaml.YAMLError(f"line {start.line + 1}: says it is not YAML 1.1, which Kubernetes reads")
                node = self.node(next(self.events))
                yield start.line, node.value, node.position

    def node(self, event: Any) -> _Node:
        """Return the value that begins with ``event``, reading events up to its end. Raises YAMLError."""
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            return self.count(self.aliased(event, line), line)
        if len(self.path) > MAX_DEPTH:
            raise yaml.YAMLError(f"line {line}: is nested more than {MAX_DEPTH} deep")
        if event.anchor:
            self.anchors[event.anchor] = (
                None  # exists, but has no value before its end: an alias in it refers to itself
            )
        if isinstance(event, yaml.ScalarEvent):
            node = self.count(_Node(self.scalar(event, line), SourcePosition(line)), line)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self.sequence(line)
        else:
            node = self.mapping(line)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def count(self, node: _Node, line: int) -> _Node:
        """Add ``node`` to the size of the text. An alias counts as all that it stands for, or the work had no bound."""
        self.size += node.size
        if self.size > MAX_VALUES:
            raise yaml.YAMLError(f"line {line}: has more than {MAX_VALUES:,} values, aliases expanded")
        return node

    def aliased(self, event: Any, line: int) -> _Node:
        """Return the value that an alias stands for. Raises YAMLError when there is none."""
        if event.anchor not in self.anchors:
            raise yaml.YAMLError(f"line {line}: there is no anchor {event.anchor}")
        node = self.anchors[event.anchor]
        if node is None:
            raise yaml.YAMLError(f"line {line}: the anchor {event.anchor} contains itself")
        return node

    def scalar(self, event: Any, line: int) -> Any:
        """Return the value of a word; quoted words are text. One that cannot be read is None and a problem."""
        if not event.tag and not event.implicit[0]:
            return event.value
        try:
            return value_of(event.value, event.tag)
        except ScalarError as error:
            self.report(line, str(error))
            return None

    def report(self, line: int, message: str) -> None:
        """Add a problem at the current path."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(path_of(self.path), f"line {line}: {message}"))

    def sequence(self, line: int) -> _Node:
        """Return the list that began on ``line``."""
        nodes: list[_Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            self.path.append(len(nodes))
            nodes.append(self.node(event))
            self.path.pop()
        value, positions = [node.value for node in nodes], [node.position for node in nodes]
        return _Node(value, SourcePosition(line, positions), 1 + sum(node.size for node in nodes))

    def mapping(self, line: int) -> _Node:
        """Return the mapping that began on ``line``. The position of a field is the line of its key."""
        values: dict[str, Any] = {}
        positions: dict[str, SourcePosition] = {}
        size = 1
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key_line = event.start_mark.line + 1
            plain = isinstance(event, yaml.ScalarEvent) and event.value == "<<"
            if plain and (event.implicit[0] or event.tag == _MERGE):
                for node in self.merged(next(self.events)):
                    size += node.size
                    below = node.position.below
                    for key, value in node.value.items():
                        self.put(values, key, value, key_line)
                        inner = below[key].below if isinstance(below, Mapping) else None
                        positions[key] = SourcePosition(key_line, inner)
                continue
            key = self.key(event, key_line)
            self.path.append(key)
            node = self.node(next(self.events))
            self.path.pop()
            self.put(values, key, node.value, key_line)
            positions[key] = SourcePosition(key_line, node.position.below)
            size += node.size
        return _Node(values, SourcePosition(line, positions), size)

    def put(self, values: dict[str, Any], key: str, value: Any, line: int) -> None:
        """Set a field. A second value for the same key is a problem, as to Kubernetes' strict reading."""
        if key in values:
            self.report(line, f"the key {key} is there already")
        values[key] = value

    def key(self, event: Any, line: int) -> str:
        """Return the key that ``event`` is, as JSON has it. Raises YAMLError for a list or a mapping."""
        value: Any = self.aliased(event, line).value if isinstance(event, yaml.AliasEvent) else None
        if isinstance(value, str | int | float):
            return key_of(str(value), None) if isinstance(value, bool) else str(value)
        if not isinstance(event, yaml.ScalarEvent):
            raise yaml.YAMLError(f"line {line}: a key must be text")
        if event.anchor:
            self.anchors[event.anchor] = _Node(event.value, SourcePosition(line))
        if not event.tag and not event.implicit[0]:
            return str(event.value)
        try:
            return key_of(event.value, event.tag)
        except ScalarError as error:
            self.report(line, str(error))
            return str(event.value)

    def merged(self, event: Any) -> list[_Node]:
        """Return the mappings that a merge key names: one, or those of a list. Raises YAMLError for anything else."""
        node = self.node(event)
        if isinstance(node.value, list):
            below: Any = node.position.below
            parts = [_Node(value, position) for value, position in zip(node.value, below, strict=True)]
        else:
            parts = [node]
        if not all(isinstance(part.value, dict) for part in parts):
            raise yaml.YAMLError(f"line {node.position.line}: only mappings can be merged")
        return parts
