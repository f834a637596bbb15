"""Hypothetical nodes: the table with other pods on some nodes, for as long as filters are asked about them.

Only the pods, the resources they request and the ports they bind change. No version changes and no change is logged,
and neither scored requests nor match counts follow, so that caches of other decisions notice nothing. What plugins
count in addition follows by their add_pod and remove_pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.state.objects import Container, Pod, Requests
from scheduler_runtime.state.objects.pod_requests import Amounts
from scheduler_runtime.state.table.columns import (
    Column,
    Ints,
    PortCounts,
    RequestedResources,
    host_ports,
    requests_or_nothing,
)


class BoundPorts:
    """Ports that hypothetical pods bind or give up, to be given back."""

    __slots__ = ("_bound", "_ports")

    def __init__(self, ports: PortCounts) -> None:
        self._ports = ports
        self._bound: list[tuple[int, Pod, int]] = []

    def bind(self, row: int, pod: Pod, sign: int) -> None:
        """Let ``pod`` bind its ports in ``row`` (1), or give them up (-1)."""
        self._ports.count(row, host_ports(pod), sign)
        self._bound.append((row, pod, sign))

    def undo(self) -> None:
        """Give back the ports."""
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

    __slots__ = ("_bound_ports", "_counts", "_pods", "_pods_before", "_requested", "_requested_before", "_row")

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
        self._requested = requested
        self._bound_ports = BoundPorts(ports)
        self._pods_before = pods[row]
        self._requested_before: dict[str, int] = {}
        """The requests for the resources that were changed."""

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
        for resource, amount in self._requested_before.items():
            self._requested.columns.write(resource, row, amount)
        self._requested.drop_unused(self._requested_before)
        self._bound_ports.undo()

    def _own_pods(self) -> dict[str, Pod]:
        """A copy of the node's pods, made with the first change: most nodes are asked about as they are."""
        if self._pods[self._row] is self._pods_before:
            self._pods[self._row] = self._pods_before.copy()
        return self._pods[self._row]

    def _count(self, pod: Pod, sign: int) -> None:
        row, columns, before = self._row, self._requested.columns, self._requested_before
        for resource, amount in requests_or_nothing(pod).amounts.items():
            if amount:
                if resource not in before:
                    before[resource] = columns.item(resource, row)
                columns.add(resource, row, sign * amount)
        self._counts.writable[row] = len(self._pods[row])
        if may_bind_ports(pod):
            self._bound_ports.bind(row, pod, sign)


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
        *("_bound_ports", "_counts", "_kinds", "_pods", "_pods_before"),
        *("_requested", "_requested_before", "_requested_before_by_row", "_rows"),
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
        self._bound_ports = BoundPorts(ports)
        self._kinds: dict[int, _EqualPods] = {}
        self._pods_before = {row: pods[row] for row in rows.tolist()}
        self._requested_before: dict[str, Ints] = {}
        """The requests in all rows, for the resources that were changed and are arrays."""
        self._requested_before_by_row: dict[tuple[str, int], int] = {}
        """The requests for other resources that were changed."""
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
                    self._bound_ports.bind(row, pod, sign)
        if not places:
            return
        rows = self._rows[places]  # A row occurs once for each of its pods.
        np.add.at(self._counts.writable, rows, sign)
        amounts = [kind.requests.amounts for kind in kinds.values()]
        arrays, others = self._requested.columns.arrays, set[str]()
        for resource in dict.fromkeys(name for one in amounts for name, amount in one.items() if amount):
            if resource not in arrays:
                others.add(resource)
                continue
            column = arrays[resource].writable
            if resource not in self._requested_before:
                self._requested_before[resource] = column[self._rows]
            by_kind = np.array([one.get(resource, 0) for one in amounts], np.int64)
            np.add.at(column, rows, sign * by_kind[numbers])
        if others:
            self._change_in_rows(rows.tolist(), [amounts[number] for number in numbers], others, sign)

    def _change_in_rows(
        self, rows: Sequence[int], amounts: Sequence[Amounts], resources: AbstractSet[str], sign: int
    ) -> None:
        """Change the requests for ``resources``, which few nodes have, by those of a pod in each of ``rows``."""
        columns, before = self._requested.columns, self._requested_before_by_row
        for row, of_pod in zip(rows, amounts, strict=True):
            for resource in of_pod.keys() & resources:
                before.setdefault((resource, row), columns.item(resource, row))
                columns.add(resource, row, sign * of_pod[resource])

    def restore(self) -> None:
        """Put everything back."""
        for row, pods in self._pods_before.items():
            self._pods[row] = pods
        self._counts.writable[self._rows] = [len(pods) for pods in self._pods_before.values()]
        columns = self._requested.columns
        for resource, before in self._requested_before.items():
            columns.arrays[resource].writable[self._rows] = before
        # Later: a resource may have become an array when it was changed already.
        for (resource, row), amount in self._requested_before_by_row.items():
            columns.write(resource, row, amount)
        self._requested.drop_unused({resource for resource, _ in self._requested_before_by_row})
        self._bound_ports.undo()
