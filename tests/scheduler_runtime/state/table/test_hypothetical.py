"""Hypothetical nodes, and the lowest priority on each node, against a fresh look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Pod
from scheduler_runtime.state.table import EVERY_ADDRESS, HostPort, Table
from scheduler_runtime.state.table.columns import NO_POD
from tests.support.preempting import pod
from tests.support.unreadable import pod_asking

NAMES = ["a", "b", "c"]
PORTS = {number: HostPort(EVERY_ADDRESS, "TCP", number) for number in (80, 81)}


def random_pod(random: Random, name: str) -> Pod:
    requests = {resource: str(random.randrange(9)) for resource in ("cpu", "memory", "example.com/gpu")}
    more: dict[str, Any] = {}
    if random.random() < 0.4:
        more["containers"] = [
            {"ports": [{"hostPort": random.choice(list(PORTS))}], "resources": {"requests": requests}}
        ]
    return pod(name, random.randrange(-2, 3), requests, **more)


def visible_to_filters(table: Table) -> Any:
    """All that filters see of the pods on nodes."""
    ports = {
        number: [users.tolist() for users in table.port_users(port) if users.any()] for number, port in PORTS.items()
    }
    amounts = {name: table.requested(name).tolist() for name in ("cpu", "memory", "example.com/gpu", "example.com/new")}
    pods = [[one.name for one in table.pods(row)] for row in range(len(table))]
    return amounts, table.pod_counts.tolist(), pods, ports


def counted(table: Table) -> Any:
    """What only real changes change."""
    return table.changes.position, table.scored("cpu").tolist(), table.lowest_priorities.tolist()


def filled(on: Mapping[str, Iterable[Pod]]) -> Table:
    table = Table()
    for name in NAMES:
        table.set_node(testing.node(name))
        for one in on.get(name, ()):
            table.add_pod(one, name)
    return table


def fresh(*pods: Pod) -> Table:
    return filled({"b": pods})


@pytest.mark.parametrize("seed", range(20))
def test_a_tried_row_is_as_if_counted_anew_and_is_put_back_exactly(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    there = [random_pod(random, f"p{number}") for number in range(5)]
    table = fresh(*there)
    before = visible_to_filters(table), counted(table)
    hypothetical, remaining = table.hypothetical_node(1), list(there)
    for number in range(10):
        if remaining and random.random() < 0.5:
            removed = random.sample(remaining, random.randrange(1, len(remaining) + 1))
            hypothetical.remove(*removed)
            remaining = [one for one in remaining if one not in removed]
        else:
            remaining.append(random_pod(random, f"new{number}"))
            hypothetical.add(remaining[-1])
        assert visible_to_filters(table) == visible_to_filters(fresh(*remaining))
        assert counted(table)[:2] == before[1][:2]
    hypothetical.restore()
    assert (visible_to_filters(table), counted(table)) == before


def test_a_port_that_is_bound_elsewhere_stays_there() -> None:
    binds_80 = [{"ports": [{"hostPort": 80}]}]
    there, nominated = pod("there", containers=binds_80), pod("nominated", containers=binds_80)
    table = fresh(there)
    one, several = table.hypothetical_node(0), table.hypothetical_nodes(np.array([2]))
    one.add(nominated)
    one.remove(nominated)
    one.restore()
    assert [users.tolist() for users in table.port_users(PORTS[80])] == [[0, 1, 0]]
    several.change([[nominated]], 1)
    several.change([[nominated]], -1)
    several.restore()
    assert [users.tolist() for users in table.port_users(PORTS[80])] == [[0, 1, 0]]


@pytest.mark.parametrize("seed", range(10))
def test_several_rows_are_tried_at_once(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    on = {name: [random_pod(random, f"{name}{number}") for number in range(4)] for name in NAMES}
    table = filled(on)
    before = visible_to_filters(table), counted(table)
    hypothetical = table.hypothetical_nodes(np.array([2, 0]))
    new = {name: [random_pod(random, f"new-{name}")] if random.random() < 0.7 else [] for name in "ac"}
    removed = {name: random.sample(on[name], random.randrange(4)) for name in "ac"}
    hypothetical.change([removed["c"], removed["a"]], -1)
    hypothetical.change([new["c"], new["a"]], 1)
    remaining = {
        name: [one for one in on[name] if one not in removed.get(name, ())] + new.get(name, []) for name in NAMES
    }
    assert visible_to_filters(table) == visible_to_filters(filled(remaining))
    assert counted(table)[:2] == before[1][:2]
    hypothetical.restore()
    assert (visible_to_filters(table), counted(table)) == before


def test_a_resource_that_nobody_asked_for_before_is_counted_and_taken_back() -> None:
    table = fresh()
    hypothetical = table.hypothetical_node(1)
    hypothetical.add(pod("x", requests={"example.com/new": "3"}))
    assert table.requested("example.com/new").tolist() == [0, 3, 0]
    hypothetical.restore()
    assert table.requested("example.com/new").tolist() == [0, 0, 0]


def test_a_pod_cannot_be_tried_twice_on_a_node_nor_leave_one_it_is_not_on() -> None:
    hypothetical = fresh(pod("x")).hypothetical_node(1)
    with pytest.raises(ValueError, match="default/x is on the node already"):
        hypothetical.add(pod("x"))
    with pytest.raises(KeyError):
        hypothetical.remove(pod("y"))


def test_what_cannot_be_read_takes_nothing() -> None:
    table = fresh()
    hypothetical = table.hypothetical_node(1)
    hypothetical.add(pod_asking("x", "lots"))
    assert (table.requested("cpu").tolist(), table.pod_counts.tolist()) == ([0, 0, 0], [0, 1, 0])
    hypothetical.restore()


@pytest.mark.parametrize("seed", range(10))
def test_the_lowest_priorities_follow_every_change(seed: int) -> None:
    random, table = Random(seed), Table()  # noqa: S311
    on: dict[str, dict[str, Pod]] = {}
    for number in range(60):
        name = random.choice("abcdef")
        if name not in on:
            on[name] = {}
            table.set_node(testing.node(name))
        elif random.random() < 0.1 and not on[name]:
            del on[name]
            table.remove_node(name)
        elif on[name] and random.random() < 0.5:
            removed = on[name].popitem()[1]
            table.remove_pod(removed, name)
        else:
            new = on[name][f"p{number}"] = random_pod(random, f"p{number}")
            table.add_pod(new, name)
        if random.random() < 0.5:
            lowest = dict(zip(table.names, table.lowest_priorities.tolist(), strict=True))
            assert lowest == {
                name: min((one.spec.priority for one in pods.values()), default=NO_POD) for name, pods in on.items()
            }
