"""YAML events to values and the lines they stand on, with a bound on the work.

Every repeated key and every word that cannot be read is told; a structure that is too deep or expands too far ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from scheduler_runtime.config.problems import Problem, path_of
from scheduler_runtime.config.yaml.scalars import ScalarError, key_of, value_of

MAX_DEPTH = 100
MAX_NODES = 50_000
MAX_PROBLEMS = 100
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """Where something stands, and what is below it."""

    line: int
    below: Mapping[str, SourcePosition] | Sequence[SourcePosition] | None = None


@dataclass(frozen=True, slots=True)
class _Node:
    value: Any
    place: SourcePosition
    size: int = 1
    """How many values it is, aliases expanded."""


class Composer:
    """The documents of one text."""

    def __init__(self, text: str) -> None:
        self.events: Iterator[Any] = yaml.parse(text, Loader=_Loader)
        self.problems: list[Problem] = []
        """What is wrong at one place and does not keep the rest from being read."""
        self.anchors: dict[str, _Node | None] = {}
        self.path: list[str | int] = []
        self.size = 0

    def documents(self) -> Iterator[tuple[int, Any, SourcePosition]]:
        """The line on which each begins, counted from 0, its value and its places. Raises YAMLError."""
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors.clear()
                start: Any = event.start_mark
                if event.version not in (None, (1, 1)):
                    raise yaml.YAMLError(f"line {start.line + 1}: says it is not YAML 1.1, which Kubernetes reads")
                node = self.node(next(self.events))
                yield start.line, node.value, node.place

    def node(self, event: Any) -> _Node:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            return self.counted(self.aliased(event, line), line)
        if len(self.path) > MAX_DEPTH:
            raise yaml.YAMLError(f"line {line}: is nested more than {MAX_DEPTH} deep")
        if event.anchor:
            self.anchors[event.anchor] = None  # known, and not usable before its end
        if isinstance(event, yaml.ScalarEvent):
            node = self.counted(_Node(self.scalar(event, line), SourcePosition(line)), line)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self.sequence(line)
        else:
            node = self.mapping(line)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def counted(self, node: _Node, line: int) -> _Node:
        self.size += node.size
        if self.size > MAX_NODES:
            raise yaml.YAMLError(f"line {line}: has more than {MAX_NODES:,} values, aliases expanded")
        return node

    def aliased(self, event: Any, line: int) -> _Node:
        if event.anchor not in self.anchors:
            raise yaml.YAMLError(f"line {line}: there is no anchor {event.anchor}")
        node = self.anchors[event.anchor]
        if node is None:
            raise yaml.YAMLError(f"line {line}: the anchor {event.anchor} contains itself")
        return node

    def scalar(self, event: Any, line: int) -> Any:
        if not event.tag and not event.implicit[0]:
            return event.value
        try:
            return value_of(event.value, event.tag)
        except ScalarError as error:
            self.refuse(line, str(error))
            return None

    def refuse(self, line: int, message: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(path_of(self.path), f"line {line}: {message}"))

    def sequence(self, line: int) -> _Node:
        nodes: list[_Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            self.path.append(len(nodes))
            nodes.append(self.node(event))
            self.path.pop()
        value, places = [node.value for node in nodes], [node.place for node in nodes]
        return _Node(value, SourcePosition(line, places), 1 + sum(node.size for node in nodes))

    def mapping(self, line: int) -> _Node:
        values: dict[str, Any] = {}
        places: dict[str, SourcePosition] = {}
        size = 1
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            at = event.start_mark.line + 1
            if _is_merge(event):
                for node in self.merged(next(self.events)):
                    size += node.size
                    for key, value in node.value.items():
                        self.put(values, key, value, at)
                        places[key] = SourcePosition(at, _below(node.place, key))
                continue
            key = self.key(event, at)
            self.path.append(key)
            node = self.node(next(self.events))
            self.path.pop()
            self.put(values, key, node.value, at)
            places[key] = SourcePosition(at, node.place.below)
            size += node.size
        return _Node(values, SourcePosition(line, places), size)

    def put(self, values: dict[str, Any], key: str, value: Any, line: int) -> None:
        if key in values:
            self.refuse(line, f"the key {key} is there already")
        values[key] = value

    def key(self, event: Any, line: int) -> str:
        node: Any = self.aliased(event, line).value if isinstance(event, yaml.AliasEvent) else None
        if isinstance(node, str | int | float):
            return key_of(str(node), None) if isinstance(node, bool) else str(node)
        if not isinstance(event, yaml.ScalarEvent):
            raise yaml.YAMLError(f"line {line}: a key must be text")
        if event.anchor:
            self.anchors[event.anchor] = _Node(event.value, SourcePosition(line))
        if not event.tag and not event.implicit[0]:
            return str(event.value)
        try:
            return key_of(event.value, event.tag)
        except ScalarError as error:
            self.refuse(line, str(error))
            return str(event.value)

    def merged(self, event: Any) -> list[_Node]:
        """The mappings that a merge key names."""
        node = self.node(event)
        if isinstance(node.value, list):
            below: Any = node.place.below
            parts = [_Node(value, place) for value, place in zip(node.value, below, strict=True)]
        else:
            parts = [node]
        if not all(isinstance(part.value, dict) for part in parts):
            raise yaml.YAMLError(f"line {node.place.line}: only mappings can be merged")
        return parts


def _below(place: SourcePosition, key: str) -> Any:
    return place.below[key].below if isinstance(place.below, Mapping) else None


def _is_merge(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "<<" and (event.implicit[0] or event.tag == _MERGE)
