"""What a pod asks of a node: upstream's sum over containers, init containers, sidecars, overhead and pod level."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

import msgspec

from ..catalog.names import is_scalar_resource
from .quantity import QuantityError, thousandths, whole_units, within_int64

if TYPE_CHECKING:
    from .objects import Container, ContainerStatus, Pod, ResourceList

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


def requests_of(pod: Pod) -> Requests:
    """Add up what ``pod`` asks for. Raises ``QuantityError`` naming the field of a malformed quantity."""
    containers = _containers(pod)
    level = _pod_level(pod)
    overhead = thousandths_of(pod.spec.overhead, "spec.overhead")
    amounts = _plus(_total(containers, {}) | level, overhead)
    defaults = SCORED_DEFAULTS
    if level:
        defaults = {name: amount for name, amount in SCORED_DEFAULTS.items() if name not in amounts}
    scored = _plus(_total(containers, defaults) | level, overhead)
    pending = _plus(_total(containers, SCORED_DEFAULTS), overhead)
    needed, counting = counted(amounts), counted(pending)
    return Requests(
        amounts=needed,
        scored_cpu=within_int64(scored.get("cpu", 0)),
        scored_memory=within_int64(whole_units(scored.get("memory", 0))),
        pending=counting,
        key=(tuple(sorted(needed.items())), tuple(sorted(counting.items()))),
    )


def counted(amounts: Amounts) -> Amounts:
    """The resources a scheduler counts: cpu in thousandths, everything else in whole units."""
    return {
        name: within_int64(amount if name == "cpu" else whole_units(amount))
        for name, amount in amounts.items()
        if name in ("cpu", "memory", "ephemeral-storage") or is_scalar_resource(name)
    }


def thousandths_of(written: ResourceList | None, field: str) -> Amounts:
    """Read a list of resources. Raises ``QuantityError`` naming the entry below ``field``."""
    found: Amounts = {}
    for name, text in (written or {}).items():
        try:
            found[name] = thousandths(str(text))
        except QuantityError as error:
            raise QuantityError(error.text, f"{field}[{name}]") from None
    return found


def _containers(pod: Pod) -> list[tuple[Amounts, str]]:
    """What each container asks for, with its role: ``main``, ``init`` or ``sidecar``."""
    spec, status = pod.spec, pod.status
    statuses = {each.name: each for each in (*status.container_statuses, *status.init_container_statuses)}
    found = []
    for index, container in enumerate(spec.containers):
        found.append((_one(pod, container, statuses, f"spec.containers[{index}]"), "main"))
    for index, container in enumerate(spec.init_containers):
        sidecar = container.restart_policy == "Always"
        asked = _one(pod, container, statuses if sidecar else {}, f"spec.initContainers[{index}]")
        found.append((asked, "sidecar" if sidecar else "init"))
    return found


def _one(pod: Pod, container: Container, statuses: dict[str, ContainerStatus], field: str) -> Amounts:
    written = container.resources.requests if container.resources else None
    asked = thousandths_of(written, f"{field}.resources.requests")
    status = statuses.get(container.name)
    if status is None or status.resources is None:
        return asked
    actual = thousandths_of(status.resources.requests, f"status.containerStatuses[{container.name}].resources.requests")
    allocated = thousandths_of(
        status.allocated_resources, f"status.containerStatuses[{container.name}].allocatedResources"
    )
    return _largest([actual, allocated] if _resize_is_infeasible(pod) else [asked, actual, allocated])


def _pod_level(pod: Pod) -> Amounts:
    """Requests for the pod as a whole, which stand above the sum of its containers'."""
    if pod.spec.resources is None or not pod.spec.resources.requests:
        return {}
    asked = thousandths_of(pod.spec.resources.requests, "spec.resources.requests")
    asked = {
        name: amount for name, amount in asked.items() if name in ("cpu", "memory") or name.startswith("hugepages-")
    }
    if pod.status.resources is None:
        return asked
    actual = thousandths_of(pod.status.resources.requests, "status.resources.requests")
    allocated = thousandths_of(pod.status.allocated_resources, "status.allocatedResources")
    effective = _largest([actual, allocated] if _resize_is_infeasible(pod) else [asked, actual, allocated])
    return {name: effective.get(name, 0) for name in asked}


def _resize_is_infeasible(pod: Pod) -> bool:
    resizes = (condition for condition in pod.status.conditions if condition.type == "PodResizePending")
    resize = next(resizes, None)
    return resize is not None and resize.reason == "Infeasible"


def _total(containers: Iterable[tuple[Amounts, str]], defaults: Amounts) -> Amounts:
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
