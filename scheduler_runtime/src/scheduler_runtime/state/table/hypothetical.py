"""Hypothetical nodes: the table with other pods on some nodes, for as long as filters are asked about them.

Only the pods, the resources they request and the ports they bind change. No version changes and no change is logged,
and neither scored requests nor match counts follow, so that caches of other decisions notice nothing. What plugins
count in addition follows by their add_pod and remove_pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.state.objects import Container, Pod, Requests
from scheduler_runtime.state.objects.quantity import wrap_int64
from scheduler_runtime.state.table.columns import (
    Column,
    Ints,
    PortCounts,
    RequestedResources,
    host_ports,
    requests_or_nothing,
)


class UndoLog:
    """Columns and ports that hypothetical pods add to the table, to be removed again."""

    __slots__ = ("_bound", "_new_resources", "_ports", "_requested")

    def __init__(self, requested: RequestedResources, ports: PortCounts) -> None:
        self._requested = requested
        self._ports = ports
        self._new_resources: list[str] = []
        self._bound: list[tuple[int, Pod, int]] = []

    def column(self, resource: str) -> Column:
        """The requests for ``resource``; a new column if no pod on a node requests it."""
        if resource not in self._requested.columns:
            self._new_resources.append(resource)
        return self._requested.column(resource)

    def bind(self, row: int, pod: Pod, sign: int) -> None:
        """Let ``pod`` bind its ports in ``row`` (1), or give them up (-1)."""
        self._ports.count(row, host_ports(pod), sign)
        self._bound.append((row, pod, sign))

    def undo(self) -> None:
        """Remove the new columns and give back the ports."""
        self._requested.drop_unused(*self._new_resources)
        # In reverse: no port that is in use may seem unused in between, for then its column is dropped.
        for row, pod, sign in reversed(self._bound):
            self._ports.count(row, host_ports(pod), -sign)


def may_bind_ports(pod: Pod) -> bool:
    """True if ``pod`` may bind ports of its node, so that it is worth looking at all its containers."""
    for container in pod.spec.containers:
        for port in container.ports:
            if port.host_port:
                return True
    return bool(pod.spec.init_containers)


class HypotheticalNode:
    """One node whose pods are changed; ``restore`` puts everything back exactly as it was."""

    __slots__ = (
        "_changed_columns",
        "_counts",
        "_pods",
        "_pods_before",
        "_requested",
        "_requested_before",
        "_row",
        "_undo_log",
    )

    def __init__(
        self,
        row: int,
        pods: list[dict[str, Pod]],
        counts: Column,
        requested: RequestedResources,
        ports: PortCounts,
    ) -> None:
        self._row = row
        self._pods = pods
        self._counts = counts
        self._undo_log = UndoLog(requested, ports)
        self._pods_before = pods[row]
        self._changed_columns: dict[str, NDArray[Any]] = {}
        # Plain integers: reading and writing numpy arrays item by item for each pod would take longer.
        self._requested = {resource: column.writable.item(row) for resource, column in requested.columns.items()}
        self._requested_before = self._requested.copy()

    def add(self, pod: Pod) -> None:
        """Put ``pod`` on the node. Raises ValueError when it is there already."""
        pods, uid = self._own_pods(), pod.metadata.uid
        if uid in pods:
            raise ValueError(f"pod {pod.key} is on the node already")
        pods[uid] = pod
        self._count(pod, 1)

    def remove(self, *pods: Pod) -> None:
        """Take ``pods`` off the node, by their uids. Raises KeyError when one is not there."""
        on_node = self._own_pods()
        for pod in pods:
            self._count(on_node.pop(pod.metadata.uid), -1)

    def restore(self) -> None:
        """Put everything back."""
        row = self._row
        self._pods[row] = self._pods_before
        self._counts.writable[row] = len(self._pods_before)
        for resource, column in self._changed_columns.items():
            column[row] = self._requested_before.get(resource, 0)
        self._undo_log.undo()

    def _own_pods(self) -> dict[str, Pod]:
        """A copy of the node's pods, made with the first change: most nodes are asked about as they are."""
        if self._pods[self._row] is self._pods_before:
            self._pods[self._row] = self._pods_before.copy()
        return self._pods[self._row]

    def _count(self, pod: Pod, sign: int) -> None:
        row, requested, columns = self._row, self._requested, self._changed_columns
        for resource, amount in requests_or_nothing(pod).amounts.items():
            if not amount:
                continue
            value = requested[resource] = wrap_int64(requested.get(resource, 0) + sign * amount)
            column = columns.get(resource)
            if column is None:
                column = columns[resource] = self._undo_log.column(resource).writable
            column[row] = value
        self._counts.writable[row] = len(self._pods[row])
        if may_bind_ports(pod):
            self._undo_log.bind(row, pod, sign)


class _EqualPods(NamedTuple):
    """Pods with equal requests, of one template as a rule, and what is the same for all of them.

    Pods that share one Requests object are alike in the whole spec, init containers included.
    """

    number: int
    requests: Requests
    containers: Sequence[Container]
    may_bind_ports: bool


class HypotheticalNodes:
    """Several nodes whose pods are changed together, as one by :class:`HypotheticalNode`.

    Requests are added up over all rows and written once, which is what makes preemption on thousands of nodes quick.
    """

    __slots__ = (
        "_counts",
        "_kinds",
        "_pods",
        "_pods_before",
        "_requested",
        "_requested_before",
        "_rows",
        "_undo_log",
    )

    def __init__(
        self,
        rows: NDArray[np.intp],
        pods: list[dict[str, Pod]],
        counts: Column,
        requested: RequestedResources,
        ports: PortCounts,
    ) -> None:
        """``rows`` are distinct."""
        self._rows = rows
        self._pods = pods
        self._counts = counts
        self._requested = requested
        self._undo_log = UndoLog(requested, ports)
        self._kinds: dict[int, _EqualPods] = {}
        self._pods_before = {row: pods[row] for row in rows.tolist()}
        self._requested_before: dict[str, Ints] = {
            name: column.writable[rows] for name, column in requested.columns.items()
        }
        for row, before in self._pods_before.items():
            pods[row] = before.copy()

    def change(self, changed: Sequence[Sequence[Pod]], sign: int) -> None:
        """Put pods on the nodes (1) or take them off (-1): a sequence of pods for each row."""
        kinds, places, numbers = self._kinds, list[int](), list[int]()
        for place, (row, pods) in enumerate(zip(self._pods_before, changed, strict=True)):
            on_node = self._pods[row]
            for pod in pods:
                if sign > 0:
                    on_node[pod.metadata.uid] = pod
                else:
                    del on_node[pod.metadata.uid]
                requests = pod.derived or requests_or_nothing(pod)
                kind = kinds.get(id(requests))
                if kind is None:
                    kind = _EqualPods(len(kinds), requests, pod.spec.containers, may_bind_ports(pod))
                    kinds[id(requests)] = kind  # It refers to the requests, so their id stays theirs.
                places.append(place)
                numbers.append(kind.number)
                if kind.may_bind_ports or (kind.containers is not pod.spec.containers and may_bind_ports(pod)):
                    self._undo_log.bind(row, pod, sign)
        if not places:
            return
        rows = self._rows[places]  # A row occurs once for each of its pods.
        np.add.at(self._counts.writable, rows, sign)
        amounts = [kind.requests.amounts for kind in kinds.values()]
        for resource in dict.fromkeys(name for one in amounts for name, amount in one.items() if amount):
            by_kind = np.array([one.get(resource, 0) for one in amounts], np.int64)
            np.add.at(self._undo_log.column(resource).writable, rows, sign * by_kind[numbers])

    def restore(self) -> None:
        """Put everything back."""
        for row, before in self._pods_before.items():
            self._pods[row] = before
        self._counts.writable[self._rows] = [len(before) for before in self._pods_before.values()]
        self._undo_log.undo()
        for name, column in self._requested.columns.items():
            column.writable[self._rows] = self._requested_before.get(name, 0)
