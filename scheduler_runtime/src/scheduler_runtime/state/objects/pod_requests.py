"""What a pod asks of a node: upstream's sum over containers, init containers, sidecars, overhead and pod level."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from scheduler_runtime.catalog.syntax import is_scalar_resource
from scheduler_runtime.state.objects.in_place_resize import BY_CONTAINER, ResizeRules, follows_from_spec, is_infeasible
from scheduler_runtime.state.objects.quantity import QuantityError, thousandths, whole_units, within_int64

if TYPE_CHECKING:
    from scheduler_runtime.state.objects.structs import (
        Container,
        ContainerStatus,
        Pod,
        ResourceList,
        ResourceRequirements,
    )

Amounts = dict[str, int]
"""Resource to amount. While adding up, everything is in thousandths."""

SCORED_DEFAULTS: Amounts = {"cpu": 100, "memory": 200 * 1024 * 1024 * 1000}
"""What a container without a request counts for in scores: 100m and 200Mi, in thousandths."""


class Requests(msgspec.Struct, frozen=True, gc=False):
    """A pod's needs: cpu in thousandths, everything else in whole units."""

    amounts: Amounts
    """What must be free on its node."""
    scored_cpu: int
    """What its cpu counts for on the node it is on, with a default for each container that names none."""
    scored_memory: int
    pending: Amounts
    """What a pod yet to be placed counts for in NodeResourcesFit's score: upstream leaves pod level out there."""
    key: Hashable = ()
    """The same for pods that ask for the same."""


def sum_requests(pod: Pod, resizing: ResizeRules = BY_CONTAINER) -> Requests:
    """Add up what ``pod`` asks for. Raises ``QuantityError`` naming the field of a malformed quantity."""
    containers = _containers(pod)
    level = _pod_level(pod, resizing)
    overhead = read_amounts(pod.spec.overhead, "spec.overhead")
    amounts = _plus(_running(pod, containers, {}, resizing) | level, overhead)
    defaults = SCORED_DEFAULTS
    if level:
        defaults = {name: amount for name, amount in SCORED_DEFAULTS.items() if name not in amounts}
    scored = _plus(_running(pod, containers, defaults, resizing) | level, overhead)
    pending = _plus(_total([(each.asked, each.role) for each in containers], SCORED_DEFAULTS), overhead)
    needed, counting = counted(amounts), counted(pending)
    return Requests(
        amounts=needed,
        scored_cpu=within_int64(scored.get("cpu", 0)),
        scored_memory=within_int64(whole_units(scored.get("memory", 0))),
        pending=counting,
        key=(tuple(sorted(needed.items())), tuple(sorted(counting.items()))),
    )


def sum_limits(pod: Pod) -> Amounts:
    """Add up what ``pod`` may use at most, in thousandths. Raises ``QuantityError`` as :func:`sum_requests`."""
    spec = pod.spec
    limits: list[tuple[Amounts, Role]] = [
        *((_limits(each.resources), _role(each)) for each in spec.init_containers),
        *((_limits(each.resources), "main") for each in spec.containers),
    ]
    total = _total(limits, {}) | _of_pods(_limits(spec.resources))
    overhead = read_amounts(spec.overhead, "spec.overhead")
    return {name: amount + overhead.get(name, 0) for name, amount in total.items() if amount}


def _limits(resources: ResourceRequirements | None) -> Amounts:
    return read_amounts(resources.limits, "resources.limits") if resources else {}


def counted(amounts: Amounts) -> Amounts:
    """The resources a scheduler counts: cpu in thousandths, everything else in whole units."""
    return {
        name: within_int64(amount if name == "cpu" else whole_units(amount))
        for name, amount in amounts.items()
        if name in ("cpu", "memory", "ephemeral-storage") or is_scalar_resource(name)
    }


def read_amounts(written: ResourceList | None, field: str) -> Amounts:
    """Read a list of resources. Raises ``QuantityError`` naming the entry below ``field``."""
    found: Amounts = {}
    for name, text in (written or {}).items():
        try:
            found[name] = thousandths(str(text))
        except QuantityError as error:
            raise QuantityError(error.text, f"{field}[{name}]") from None
    return found


Role = Literal["main", "init", "sidecar"]


class _Container(NamedTuple):
    """What a container asks for, what it was given and what it has; None where that is not known."""

    role: Role
    asked: Amounts
    allocated: Amounts | None = None
    actual: Amounts | None = None


def _containers(pod: Pod) -> list[_Container]:
    spec, status = pod.spec, pod.status
    statuses = {each.name: each for each in (*status.init_container_statuses, *status.container_statuses)}
    found = [
        _container("main", container, statuses, f"spec.containers[{index}]")
        for index, container in enumerate(spec.containers)
    ]
    for index, container in enumerate(spec.init_containers):
        found.append(_container(_role(container), container, statuses, f"spec.initContainers[{index}]"))
    return found


def _role(container: Container) -> Role:
    """Of one that comes before the main ones."""
    return "sidecar" if container.restart_policy == "Always" else "init"


def _container(role: Role, container: Container, statuses: dict[str, ContainerStatus], field: str) -> _Container:
    written = container.resources.requests if container.resources else None
    asked = read_amounts(written, f"{field}.resources.requests")
    status = statuses.get(container.name)
    if status is None:
        return _Container(role, asked)
    place, allocated, actual = f"status.containerStatuses[{container.name}]", None, None
    if status.allocated_resources is not None:
        allocated = read_amounts(status.allocated_resources, f"{place}.allocatedResources")
    if status.resources is not None:
        actual = read_amounts(status.resources.requests, f"{place}.resources.requests")
    return _Container(role, asked, allocated, actual)


def _running(pod: Pod, containers: list[_Container], defaults: Amounts, resizing: ResizeRules) -> Amounts:
    """What all containers take together."""
    if follows_from_spec(pod.status):
        return _total([(each.asked, each.role) for each in containers], defaults)
    keeps_asking = not is_infeasible(pod)
    if resizing.sums_are_compared:
        return _largest_sum(pod, containers, defaults, resizing, keeps_asking)
    return _total([(_largest_of(each, keeps_asking), each.role) for each in containers], defaults)


def _largest_of(container: _Container, keeps_asking: bool) -> Amounts:
    if container.actual is None or container.role == "init":
        return container.asked
    return _largest([*([container.asked] if keeps_asking else []), container.actual, container.allocated or {}])


def _largest_sum(
    pod: Pod, containers: list[_Container], defaults: Amounts, resizing: ResizeRules, keeps_asking: bool
) -> Amounts:
    """The largest of three sums: what is asked for, what was given, and what is there."""
    status = pod.status
    there_as_pod = status.resources.requests if status.resources else None
    sums = [_total([(each.asked, each.role) for each in containers], defaults)] if keeps_asking else []
    if resizing.reads_pod_level and status.allocated_resources is not None and there_as_pod is not None:
        return _largest([*sums, *_pod_level_status(pod)])
    given, there = [], []
    for each in containers:
        otherwise = each.asked if keeps_asking else {}
        allocated = otherwise if each.allocated is None else each.allocated
        given.append((allocated, each.role))
        there.append((each.actual or allocated, each.role))
    return _largest([*sums, _total(given, defaults), _total(there, defaults)])


def _pod_level(pod: Pod, resizing: ResizeRules) -> Amounts:
    """Requests for the pod as a whole, which stand above the sum of its containers'."""
    if pod.spec.resources is None or not pod.spec.resources.requests:
        return {}
    asked = _of_pods(read_amounts(pod.spec.resources.requests, "spec.resources.requests"))
    if not asked or pod.status.resources is None or not resizing.reads_pod_level:
        return asked
    effective = _largest([*([] if is_infeasible(pod) else [asked]), *map(_of_pods, _pod_level_status(pod))])
    return effective if resizing.sums_are_compared else {name: effective.get(name, 0) for name in asked}


def _pod_level_status(pod: Pod) -> list[Amounts]:
    """What the pod as a whole has, and what it was given."""
    status = pod.status
    actual = read_amounts(status.resources.requests if status.resources else None, "status.resources.requests")
    return [actual, read_amounts(status.allocated_resources, "status.allocatedResources")]


def _of_pods(amounts: Amounts) -> Amounts:
    """Those that a pod can ask for as a whole."""
    return {name: each for name, each in amounts.items() if name in ("cpu", "memory") or name.startswith("hugepages-")}


def _total(containers: Iterable[tuple[Amounts, Role]], defaults: Amounts) -> Amounts:
    """Main containers and sidecars together, or the largest moment of initialisation if that is more."""
    running: Amounts = {}
    sidecars: Amounts = {}
    starting: Amounts = {}
    for asked, role in containers:
        asked = defaults | asked if defaults else asked
        if role != "init":
            running = _plus(running, asked)
        if role == "main":
            continue
        moment = _plus(sidecars, asked)
        if role == "sidecar":
            sidecars = moment
        starting = _largest([starting, moment])
    return _largest([running, starting])


def _plus(one: Amounts, other: Amounts) -> Amounts:
    if not other:
        return one
    total = dict(one)
    for name, amount in other.items():
        total[name] = total.get(name, 0) + amount
    return total


def _largest(several: Iterable[Amounts]) -> Amounts:
    largest: Amounts = {}
    for amounts in several:
        for name, amount in amounts.items():
            if name not in largest or amount > largest[name]:
                largest[name] = amount
    return largest
