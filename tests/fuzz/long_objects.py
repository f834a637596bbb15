"""Pods and nodes in which a list, a map or a text is as long as an API server takes it, wherever there is one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler_runtime.state.objects import Node, Pod
from tests.fuzz.objects import CHOICES, KEYS, LENGTHS, SCHEMA, MadeObjects, fields_read

MOST_BYTES = 3 << 20
"""As much as a request to an API server may have. What it stores, in a shorter form, is half of that at most."""
MOST_ENTRIES = (5_000, 20_000, 700_000)
"""Entries without anything in them are two bytes each where they are stored."""
TEXTS = ("9", "a", "1.", "-", ",", "*", "a=b,", "é", "🙂", "/", "0", "[", "1e")
NUMBER = "@@number"
"""Stands for the number of an entry of a long list, until the list is written."""
LONG = "@@long"
"""Stands for a long list, map or text, until then."""


@dataclass(frozen=True, slots=True)
class Place:
    """A list, a map or a text in objects of a kind: the fields that lead to it, and its type."""

    path: tuple[str, ...]
    type: str
    is_read: bool
    """Whether the scheduler reads it."""

    def __str__(self) -> str:
        return ".".join(self.path)


def places(kind: str, struct: Any, *, is_read: bool = True) -> Iterator[Place]:
    """All lists, maps and texts of objects of a type of the schema, of which the scheduler reads ``struct``."""
    read = fields_read(struct)
    for field, type_ in SCHEMA[kind].items():
        is_field_read = is_read and field in read
        if type_.startswith(("[]", "{}")) or type_ == "string":
            yield Place((field,), type_, is_field_read)
        inner = type_.removeprefix("[]")
        if inner in SCHEMA:
            for place in places(inner, read.get(field), is_read=is_field_read):
                yield Place((field, *place.path), place.type, place.is_read)


def _places_read_first(kind: str, struct: Any) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """Lists and maps that the scheduler reads, and all other places."""
    found = list(places(kind, struct))
    read = tuple(place for place in found if place.is_read and place.type != "string")
    return read, tuple(place for place in found if place not in read)


PODS, OTHER_IN_PODS = _places_read_first("Pod", Pod)
NODES, OTHER_IN_NODES = _places_read_first("Node", Node)


class LongObjects(MadeObjects):
    """Makes pods and nodes with ordinary words that are short but for a place or two."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.odd_words = 0.0

    def long_pod(self, name: str, node: str, long: Sequence[Place], **spec: Any) -> tuple[bytes, str]:
        """Return the text of a pod, and what the ``long`` places have."""
        pod = self._object("Pod", Pod, name, density=0.05)
        pod["spec"] = {"containers": [{"name": "c"}], **pod.get("spec", {}), **spec}
        for field in ("schedulingGates", "nodeSelector", "preemptionPolicy"):
            pod["spec"].pop(field, None)  # or it would have no attempt, or a short one
        pod["spec"].update(schedulerName="test", nodeName=node)
        return self._with_long(pod, "Pod", Pod, long)

    def long_node(self, name: str, long: Sequence[Place]) -> tuple[bytes, str]:
        """Return the text of a node, and what the ``long`` places have."""
        node = self._object("Node", Node, name, density=0.05)
        node["metadata"]["labels"] = {"kubernetes.io/hostname": name, "zone": name, "a": "b"}
        node["status"] = {"allocatable": {"cpu": "4", "memory": "32Gi", "pods": "110"}}
        return self._with_long(node, "Node", Node, long)

    def _with_long(self, made: dict[str, Any], kind: str, struct: Any, long: Sequence[Place]) -> tuple[bytes, str]:
        """Write the object down, with as much in all places together as an API server takes, or less."""
        texts: list[tuple[str, str]] = []
        for number, place in enumerate(long):
            holder, struct_there = self._holder(made, kind, struct, place)
            field = place.path[-1]
            holder[field] = f"{LONG}{number}"
            texts.append(self._long_value(place.type, fields_read(struct_there).get(field), field, len(long)))
        whole = json.dumps(made, ensure_ascii=False)
        for number, (text, _) in enumerate(texts):
            whole = whole.replace(f'"{LONG}{number}"', text, 1)
        title = " and ".join(f"{title} at {place}" for (_, title), place in zip(texts, long, strict=True))
        return whole.encode(), title

    def _holder(self, made: dict[str, Any], kind: str, struct: Any, place: Place) -> tuple[dict[str, Any], Any]:
        """The object that has the place, made where it is absent, and its struct."""
        holder = made
        for field in place.path[:-1]:
            type_ = SCHEMA[kind][field]
            kind, struct = type_.removeprefix("[]"), fields_read(struct).get(field)
            inner = holder.get(field)
            inner = inner[0] if isinstance(inner, list) and inner else inner
            if not isinstance(inner, dict):
                inner = self._of(kind, struct, 1.0)
                holder[field] = [inner] if type_.startswith("[]") else inner
            holder = inner
        return holder, struct

    def _long_value(self, type_: str, struct: Any, field: str, parts: int) -> tuple[str, str]:
        """The JSON of a list, map or text that has one of ``parts`` of an object's bytes, or less; and a title."""
        random = self.random
        most_bytes = MOST_BYTES // parts
        opening, closing = "[]" if type_.startswith("[]") else "{}"
        form = random.choice(("empty", "equal", "different", "different", "nested", "one"))
        inner = type_[2:]
        if type_ == "string" or (form == "one" and inner not in SCHEMA):
            part = random.choice(TEXTS)
            text = json.dumps(part * (most_bytes // 2 // len(part.encode())), ensure_ascii=False)
            if type_ == "string":
                return text, f"{part} without end"
            key = f'"{random.choice(KEYS)}":' if opening == "{" else ""
            return f"{opening}{key}{text}{closing}", f"one entry, {part} without end,"
        most_entries = random.choice(MOST_ENTRIES)
        written: list[str] = []
        for entry in self._entries(inner, struct, field, form, has_keys=opening == "{", number=most_entries):
            most_bytes -= len(entry) + 1
            if most_bytes < 0:
                break
            written.append(entry)
        return f"{opening}{','.join(written)}{closing}", f"{len(written)} {form} entries"

    def _entries(self, type_: str, struct: Any, field: str, form: str, *, has_keys: bool, number: int) -> Iterator[str]:
        """The JSON of so many entries of a list or map."""
        made: list[Any] = [{} if type_ in SCHEMA else "a"]
        if form != "empty":
            self.lengths = (20, 100) if form == "nested" else (0, 1, 1, 2)
            made = [self._of(type_, struct, 1.0, field) for _ in range(1 if form == "equal" else 40)]
            self.lengths = LENGTHS
        if form not in ("empty", "equal"):
            made = [self._numbered(value) for value in made]
        entries = [json.dumps(value, ensure_ascii=False) for value in made]
        if has_keys:
            entries = [f'"{self.random.choice(KEYS)}{NUMBER}":{entry}' for entry in entries]
        for index in range(number):
            yield entries[index % len(entries)].replace(NUMBER, str(index))

    def _numbered(self, value: Any, field: str = "") -> Any:
        """``value`` with the number of its entry in most texts, so that no two entries are alike."""
        if isinstance(value, dict):
            return {self._numbered(key): self._numbered(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._numbered(inner, field) for inner in value]
        has_few_words = field in CHOICES and field != "topologyKey"
        if isinstance(value, str) and not has_few_words and self.random.random() < 0.7:
            return f"{value}{NUMBER}"
        return value
