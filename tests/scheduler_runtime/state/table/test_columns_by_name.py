"""Numbers by name and row, against a dict: arrays for names that many rows have, and little memory for all others."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.state.table import EVERY_ADDRESS, HostPort, Table
from scheduler_runtime.state.table.columns import Column, ColumnsByName

NAMES = ["cpu", *(f"example.com/r{number}" for number in range(6))]
ROWS = 64


def columns_of(rows: int) -> ColumnsByName[str]:
    return ColumnsByName(lambda: Column(np.int64, rows, ROWS), [f"n{row}" for row in range(rows)], ("cpu",))


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_those_that_were_written(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    columns, expected = columns_of(ROWS), dict[tuple[str, int], int]()
    for _ in range(400):
        name, row, number = random.choice(NAMES), random.randrange(ROWS), random.choice([0, 0, 1, 2**63 - 1])
        match random.randrange(8):
            case 0:
                columns.drop(name)
                expected = {place: value for place, value in expected.items() if place[0] != name}
            case 1:
                numbers = {name: random.randrange(3) for name in random.sample(NAMES, 3)}
                columns.write_row(row, numbers)
                expected.update({(name, row): numbers.get(name, 0) for name in NAMES})
            case 2 | 3 | 4:
                columns.add(name, row, number)
                total = expected.get((name, row), 0) + number
                expected[name, row] = (total + 2**63) % 2**64 - 2**63
            case _:
                columns.write(name, row, number)
                expected[name, row] = number
        for one in NAMES:
            column = columns.column(one)
            numbers_of_one = [expected.get((one, row), 0) for row in range(ROWS)]
            assert [columns.item(one, row) for row in range(ROWS)] == numbers_of_one
            assert (column.values.tolist() if column else [0] * ROWS) == numbers_of_one


def test_a_name_is_an_array_once_many_rows_have_it() -> None:
    columns = columns_of(ROWS)
    for row in range(4):
        columns.write("example.com/r0", row, 1)
        assert not columns.arrays
    columns.write("example.com/r0", 4, 1)
    assert list(columns.arrays) == list(columns) == ["example.com/r0"]
    columns.write("cpu", 0, 1)
    assert list(columns.arrays) == ["example.com/r0", "cpu"]


def test_thousands_of_resources_and_ports_of_one_node_and_one_pod_take_no_arrays() -> None:
    names = [f"example.com/r{number}" for number in range(1000)]
    table = Table()
    for number in range(100):
        table.set_node(testing.node(f"n{number}"))
    table.set_node(testing.node("long", dict.fromkeys(names, "2")))
    ports = [{"hostPort": number} for number in range(1, 1001)]
    resources = {"requests": dict.fromkeys(names, "1")}
    pod = testing.pod("long", containers=[{"name": "c", "ports": ports, "resources": resources}])
    table.add_pod(pod, "long")
    columns = table._columns
    for some in (columns.allocatable, columns.requested.columns, columns.ports.columns):
        assert len(some) >= 1000
        assert len(some.arrays) <= 3
    assert table.requested_in(100, names[0]) == table.requested(names[0])[100] == 1
    assert table.allocatable_in(100, names[0]) == table.allocatable(names[0])[100] == 2
    assert table.is_port_used(100, HostPort(EVERY_ADDRESS, "TCP", 1000))
    table.remove_pod(pod, "long")
    table.remove_node("long")
    assert list(columns.allocatable) == ["cpu", "memory"]
    assert not len(columns.requested.columns)
    assert not len(columns.ports.columns)
