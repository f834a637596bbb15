"""Small plugins that say when they were asked, and decisions made with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from scheduler_runtime import testing
from scheduler_runtime.api import Cycle, NodeTable, Plugin, Pod, Reject
from scheduler_runtime.framework import Placed, Unschedulable

#: What plugins were asked in this test, in order.
CALLS: list[str] = []


def only(*names: str, **points: Any) -> dict[str, Any]:
    """A profile of these plugins and what every profile needs."""
    enabled = [{"name": name} for name in ("PrioritySort", *names, "DefaultBinder")]
    return {"plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}, **points}}


def schedule(*plugins: type[Plugin], nodes: Iterable[str] = "abc") -> Placed | Unschedulable:
    cluster = testing.Cluster(*(testing.node(name) for name in nodes))
    decides = testing.framework(only(*(plugin.__name__ for plugin in plugins)), *plugins)
    return decides.schedule(testing.pod("p"), cluster)


def rows(nodes: NodeTable, *names: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.array([name in names for name in nodes.names])


class First(Plugin):
    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> str:
        CALLS.append("First.pre_filter")
        cycle["seen"] = "by First"
        return "state of First"

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        CALLS.append(f"First.filter with {state}")
        yield Reject(rows(nodes, "a"), "is a")
        yield Reject(rows(nodes, "a", "b"), "is early")
