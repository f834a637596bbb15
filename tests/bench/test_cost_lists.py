"""Every list and map of a pod and a node that is decoded has a shape in the bench of costs, or a reason why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import inspect

from bench.cost.beside import CostCase
from bench.cost.lists import READ, TAKEN_IN, LongLists
from bench.cost.shapes import SHAPES
from scheduler_runtime.state.objects import Node, Pod
from tests.fuzz.objects import SCHEMA

NUMBERS = range(10_000, 10_040)


def lists_in_schema(kind: str, path: str) -> Iterator[str]:
    """The lists and maps of a type of the API."""
    for field, type_ in SCHEMA[kind].items():
        brackets = type_[:2] if type_[:2] in ("[]", "{}") else ""
        place = f"{path}.{field}{brackets}"
        if brackets or field == "fieldsV1":
            yield place
        if type_.removeprefix(brackets) in SCHEMA:
            yield from lists_in_schema(type_.removeprefix(brackets), place)


def lists_in_struct(type_: inspect.Type, path: str) -> Iterator[str]:
    """The lists and maps of a struct."""
    match type_:
        case inspect.UnionType(types=several):
            for one in several:
                yield from lists_in_struct(one, path)
        case inspect.VarTupleType(item_type=inner):
            yield f"{path}[]"
            yield from lists_in_struct(inner, f"{path}[]")
        case inspect.DictType():
            yield f"{path}{{}}"
        case inspect.StructType(fields=fields):
            for field in fields:
                if not field.encode_name.startswith("."):  # what is derived from others
                    yield from lists_in_struct(field.type, f"{path}.{field.encode_name}")


IN_API = {*lists_in_schema("Pod", "Pod"), *lists_in_schema("Node", "Node")}
DECODED = {path for kind in (Pod, Node) for path in lists_in_struct(inspect.type_info(kind), kind.__name__)}


def test_each_list_that_is_decoded_has_a_shape_or_a_reason() -> None:
    known = [path for read in READ for path in read.paths]
    assert sorted(known) == sorted(DECODED)
    for read in READ:
        assert bool(read.shapes) != bool(read.why), read


def test_nothing_is_measured_that_the_api_does_not_have() -> None:
    newer = {path for read in READ for path in read.paths if path.endswith("bindMountOptions[]")}
    for read in (*READ, *TAKEN_IN):
        assert set(read.paths) <= IN_API | newer, read
    assert not {path for read in TAKEN_IN for path in read.paths} & DECODED


def test_each_shape_is_there_for_a_list() -> None:
    assert {shape for read in (*READ, *TAKEN_IN) for shape in read.shapes} == SHAPES.keys()


def entries_at(value: Any, path: str) -> int:
    """The most entries that a list or map at a path has in one object."""
    if not path:
        return len(value)
    field, _, rest = path.partition(".")
    name = field.removesuffix("[]").removesuffix("{}")
    inner = value.get(name) if isinstance(value, dict) else None
    if inner is None:
        return 0
    if not rest:
        return len(inner["f:metadata"]["f:labels"]) if name == "fieldsV1" else len(inner)
    return max((entries_at(one, rest) for one in inner), default=0) if field.endswith("[]") else entries_at(inner, rest)


@pytest.mark.parametrize("read", [read for read in (*READ, *TAKEN_IN) if read.shapes], ids=lambda read: read.shapes[0])
def test_each_shape_makes_its_list_as_long_as_is_said(read: LongLists) -> None:
    for name in read.shapes:
        shape = SHAPES[name]
        most = 0
        for kind, patch in (
            (shape.kind, shape.patch),
            ("Pod", shape.status),
            ("Node", shape.node),
            ("Pod", shape.resident),
        ):
            if patch is not None:
                paths = [path.partition(".")[2] for path in read.paths if path.startswith(f"{kind}.")]
                most = max([most, *(entries_at(patch(NUMBERS), path) for path in paths)])
        # Two of them have a list of this length in two halves.
        assert most >= len(NUMBERS) // 2, f"{name}: {most}"
        assert CostCase(name, shape.ways[0], len(NUMBERS)).list is shape
