"""The page ``/metrics/resources``: requests and limits of pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scheduler_runtime.metrics import Gauge, Labels, exposition
from scheduler_runtime.state.objects import Pod, QuantityError
from scheduler_runtime.state.objects.pod_requests import sum_limits

_BYTES = ("memory", "storage", "ephemeral-storage")
_ENDED = ("Succeeded", "Failed")
_LARGEST = 10**300
"""A pod may have a limit beyond every floating point number."""


def resource_metrics(pods: Iterable[Pod]) -> str:
    """Return the text of ``/metrics/resources``. A pod whose quantities cannot be read is left out."""
    requests: dict[Labels, float] = {}
    limits: dict[Labels, float] = {}
    for pod in pods:
        if pod.spec.node_name and pod.status.phase in _ENDED:
            continue
        try:
            requests |= _samples(pod, pod.requests.amounts, divisor=1)
            limits |= _samples(pod, sum_limits(pod), divisor=1000)
        except QuantityError:
            continue
    return exposition(
        [
            Gauge(
                "kube_pod_resource_request",
                "What the pod asks for, by resource and its unit.",
                lambda: requests,
            ),
            Gauge(
                "kube_pod_resource_limit",
                "What the pod may use at most, by resource and its unit.",
                lambda: limits,
            ),
        ]
    )


def _samples(pod: Pod, amounts: Mapping[str, int], divisor: int) -> dict[Labels, float]:
    """Return a sample for each resource; amounts are divided by ``divisor``, those of cpu by 1000 always."""
    of_pod: Labels = (
        ("namespace", pod.namespace),
        ("pod", pod.name),
        ("node", pod.spec.node_name),
        ("scheduler", pod.spec.scheduler_name),
        ("priority", str(pod.spec.priority)),
    )
    return {
        (*of_pod, ("resource", resource), ("unit", _unit(resource))): min(amount, _LARGEST)
        / (1000 if resource == "cpu" else divisor)
        for resource, amount in amounts.items()
        if amount
    }


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in _BYTES or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""
