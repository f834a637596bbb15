"""Resource requests of a pod, added up over its containers, init containers, sidecars, overhead and pod level.

The rules are upstream's: PodRequests and PodLimits in k8s.io/component-helpers/resource/helpers.go. A pod that is
resized in place counts for the most of what it requests, what the node has allocated to it, and what it really has.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from scheduler_runtime.catalog.syntax import is_scalar_resource
from scheduler_runtime.catalog.target import Target
from scheduler_runtime.state.objects.quantity import QuantityError, thousandths, to_milli, whole_units

if TYPE_CHECKING:
    from scheduler_runtime.state.objects.structs import (
        Container,
        Pod,
        PodStatus,
        ResourceList,
        ResourceRequirements,
    )

Amounts = dict[str, int]
"""Amount by resource. While adding up, everything is in thousandths."""

SCORED_DEFAULTS: Amounts = {"cpu": 100, "memory": 200 * 1024 * 1024 * 1000}
"""The share in scores of a container that requests nothing: 100m and 200Mi, in thousandths.

As DefaultMilliCPURequest and DefaultMemoryRequest in pkg/scheduler/util/pod_resources.go.
"""


class Requests(msgspec.Struct, frozen=True, gc=False):
    """A pod's needs: cpu in thousandths, everything else in whole units."""

    amounts: Amounts
    """The room that must be free on its node."""
    scored_cpu: int
    """The cpu it counts for in scores while it is on a node, with a default for each container that names none."""
    scored_memory: int
    pending: Amounts
    """The pod's own share in the score of NodeResourcesFit before it is placed: upstream leaves pod level out there."""
    key: Hashable = ()
    """Equal for pods with equal needs."""


@dataclass(frozen=True, slots=True)
class ResizeRules:
    """A Kubernetes version's way of adding up a pod whose containers are resized in place."""

    compares_sums: bool = False
    """Since 1.37 the sums over all containers are compared, before that each container by itself."""
    reads_pod_level_status: bool = True
    """True if resources that were allocated to the pod as a whole count as well."""

    @classmethod
    def of(cls, target: Target) -> ResizeRules:
        """The rules of the kube-scheduler that ``target`` describes."""
        return cls(target.version.at_least("1.37"), target.enabled("InPlacePodLevelResourcesVerticalScaling"))


BY_CONTAINER = ResizeRules()


def follows_from_spec(status: PodStatus) -> bool:
    """True if the pod takes what its spec requests: no status reports other resources for it."""
    return not (
        status.container_statuses or status.init_container_statuses or status.resources or status.allocated_resources
    )


def is_infeasible(pod: Pod) -> bool:
    """True if the node can never grant the requests of ``pod``'s resize, so that they do not count."""
    resizes = (condition for condition in pod.status.conditions if condition.type == "PodResizePending")
    resize = next(resizes, None)
    return resize is not None and resize.reason == "Infeasible"


def sum_requests(pod: Pod, rules: ResizeRules = BY_CONTAINER) -> Requests:
    """Add up the requests of ``pod``. Raises ``QuantityError`` naming the field of a malformed quantity."""
    containers = _containers(pod)
    level = _pod_level(pod, rules)
    overhead = read_amounts(pod.spec.overhead, "spec.overhead")
    amounts = _plus(_sum_containers(pod, containers, {}, rules) | level, overhead)
    defaults = SCORED_DEFAULTS
    if level:
        defaults = {name: amount for name, amount in SCORED_DEFAULTS.items() if name not in amounts}
    scored = _plus(_sum_containers(pod, containers, defaults, rules) | level, overhead)
    requested = [(container.requested, container.role) for container in containers]
    needs = in_scheduler_units(amounts)
    pending = in_scheduler_units(_plus(_total(requested, SCORED_DEFAULTS), overhead))
    return Requests(
        amounts=needs,
        scored_cpu=thousandths(scored.get("cpu", 0)),
        scored_memory=whole_units(scored.get("memory", 0)),
        pending=pending,
        key=(tuple(sorted(needs.items())), tuple(sorted(pending.items()))),
    )


def sum_limits(pod: Pod) -> Amounts:
    """Add up the limits of ``pod``, in thousandths. Raises ``QuantityError`` as :func:`sum_requests`."""
    spec = pod.spec
    limits: list[tuple[Amounts, Role]] = [
        *((_limits(container.resources), _role(container)) for container in spec.init_containers),
        *((_limits(container.resources), "main") for container in spec.containers),
    ]
    total = _total(limits, {}) | _at_pod_level(_limits(spec.resources))
    overhead = read_amounts(spec.overhead, "spec.overhead")
    return {name: amount + overhead.get(name, 0) for name, amount in total.items() if amount}


def _limits(resources: ResourceRequirements | None) -> Amounts:
    return read_amounts(resources.limits, "resources.limits") if resources else {}


def in_scheduler_units(amounts: Amounts) -> Amounts:
    """The resources that a scheduler counts: cpu in thousandths, everything else in whole units."""
    return {
        name: thousandths(milli) if name == "cpu" else whole_units(milli)
        for name, milli in amounts.items()
        if name in ("cpu", "memory", "ephemeral-storage") or is_scalar_resource(name)
    }


def read_amounts(resources: ResourceList | None, field: str) -> Amounts:
    """Read a list of resources, in thousandths. Raises ``QuantityError`` naming the entry below ``field``."""
    amounts: Amounts = {}
    for name, text in (resources or {}).items():
        try:
            amounts[name] = to_milli(str(text))
        except QuantityError as error:
            raise QuantityError(error.text, f"{field}[{name}]") from None
    return amounts


Role = Literal["main", "init", "sidecar"]


class _Container(NamedTuple):
    """Resources of a container: requested, allocated by the kubelet, and in use; None where no status reports them."""

    role: Role
    requested: Amounts
    allocated: Amounts | None = None
    actual: Amounts | None = None


def _containers(pod: Pod) -> list[_Container]:
    spec, status = pod.spec, pod.status
    statuses = {entry.name: entry for entry in (*status.init_container_statuses, *status.container_statuses)}
    in_order: list[tuple[Role, Container, str]] = [
        ("main", container, f"spec.containers[{index}]") for index, container in enumerate(spec.containers)
    ]
    for index, container in enumerate(spec.init_containers):
        in_order.append((_role(container), container, f"spec.initContainers[{index}]"))
    containers = []
    for role, container, field in in_order:
        resources = container.resources.requests if container.resources else None
        requested = read_amounts(resources, f"{field}.resources.requests")
        reported = statuses.get(container.name)
        allocated = actual = None
        if reported is not None:
            path = f"status.containerStatuses[{container.name}]"
            if reported.allocated_resources is not None:
                allocated = read_amounts(reported.allocated_resources, f"{path}.allocatedResources")
            if reported.resources is not None:
                actual = read_amounts(reported.resources.requests, f"{path}.resources.requests")
        containers.append(_Container(role, requested, allocated, actual))
    return containers


def _role(container: Container) -> Role:
    """The role of an init container: a sidecar goes on running beside the main containers."""
    return "sidecar" if container.restart_policy == "Always" else "init"


def _sum_containers(pod: Pod, containers: list[_Container], defaults: Amounts, rules: ResizeRules) -> Amounts:
    """All containers together, with ``defaults`` for those that request nothing."""
    requested = [(container.requested, container.role) for container in containers]
    if follows_from_spec(pod.status):
        return _total(requested, defaults)
    counts_requested = not is_infeasible(pod)
    if rules.compares_sums:
        return _largest_sum(pod, containers, defaults, rules, counts_requested)
    largest: list[tuple[Amounts, Role]] = []
    for container in containers:
        amounts = container.requested
        # An init container that ends is never resized; only a sidecar's status counts.
        if container.actual is not None and container.role != "init":
            amounts = _largest([amounts if counts_requested else {}, container.actual, container.allocated or {}])
        largest.append((amounts, container.role))
    return _total(largest, defaults)


def _largest_sum(
    pod: Pod, containers: list[_Container], defaults: Amounts, rules: ResizeRules, counts_requested: bool
) -> Amounts:
    """The largest of three sums, since 1.37: all that is requested, all that is allocated, all that is in use."""
    status = pod.status
    sums: list[Amounts] = []
    if counts_requested:
        sums.append(_total([(container.requested, container.role) for container in containers], defaults))
    in_use_by_pod = status.resources.requests if status.resources else None
    if rules.reads_pod_level_status and status.allocated_resources is not None and in_use_by_pod is not None:
        return _largest([*sums, *_pod_level_status(pod)])
    allocated: list[tuple[Amounts, Role]] = []
    in_use: list[tuple[Amounts, Role]] = []
    for container in containers:
        requested = container.requested if counts_requested else {}
        granted = requested if container.allocated is None else container.allocated
        allocated.append((granted, container.role))
        in_use.append((container.actual or granted, container.role))
    return _largest([*sums, _total(allocated, defaults), _total(in_use, defaults)])


def _pod_level(pod: Pod, rules: ResizeRules) -> Amounts:
    """Requests for the pod as a whole (KEP-2837), which replace the sum over its containers."""
    if pod.spec.resources is None or not pod.spec.resources.requests:
        return {}
    requested = _at_pod_level(read_amounts(pod.spec.resources.requests, "spec.resources.requests"))
    if not requested or pod.status.resources is None or not rules.reads_pod_level_status:
        return requested
    counts_requested = not is_infeasible(pod)
    effective = _largest([requested if counts_requested else {}, *map(_at_pod_level, _pod_level_status(pod))])
    return effective if rules.compares_sums else {name: effective.get(name, 0) for name in requested}


def _pod_level_status(pod: Pod) -> list[Amounts]:
    """The resources in use by the pod as a whole, and those that were allocated to it."""
    status = pod.status
    actual = read_amounts(status.resources.requests if status.resources else None, "status.resources.requests")
    return [actual, read_amounts(status.allocated_resources, "status.allocatedResources")]


def _at_pod_level(amounts: Amounts) -> Amounts:
    """The resources that a pod can request as a whole."""
    return {
        name: amount for name, amount in amounts.items() if name in ("cpu", "memory") or name.startswith("hugepages-")
    }


def _total(containers: Iterable[tuple[Amounts, Role]], defaults: Amounts) -> Amounts:
    """Main containers and sidecars together, or the largest moment of initialization if that is more.

    Init containers run one after another, in their order, beside the sidecars that were started before them.
    """
    running: Amounts = {}
    sidecars: Amounts = {}
    starting: Amounts = {}
    # Each container changes its own resources only: a user may write thousands of both, and no sum is copied for each.
    for amounts, role in containers:
        amounts = defaults | amounts if defaults else amounts
        if role != "init":
            _add(running, amounts)
        if role == "main":
            continue
        if role == "sidecar":
            _add(sidecars, amounts)
        for name, amount in amounts.items():
            moment = sidecars[name] if role == "sidecar" else sidecars.get(name, 0) + amount
            if name not in starting or moment > starting[name]:
                starting[name] = moment
    return _largest([running, starting])


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _plus(one: Amounts, other: Amounts) -> Amounts:
    if not other:
        return one
    total = dict(one)
    _add(total, other)
    return total


def _largest(several: Iterable[Amounts]) -> Amounts:
    largest: Amounts = {}
    for amounts in several:
        for name, amount in amounts.items():
            if name not in largest or amount > largest[name]:
                largest[name] = amount
    return largest
