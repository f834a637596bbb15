"""``/metrics/resources``: what each pod of the cluster asks for, and what it may use at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from scheduler_runtime.scheduling.metrics.exposition import Gauge, Labels, Samples, exposition
from scheduler_runtime.state.objects import Pod, QuantityError
from scheduler_runtime.state.objects.pod_requests import sum_limits

_BYTES = ("memory", "storage", "ephemeral-storage")
_ENDED = ("Succeeded", "Failed")


def resource_metrics(pods: Iterable[Pod]) -> str:
    """The text of the page. A pod whose quantities cannot be read is left out."""
    requests: dict[Labels, float] = {}
    limits: dict[Labels, float] = {}
    for pod in pods:
        if pod.spec.node_name and pod.status.phase in _ENDED:
            continue
        try:
            requests |= _labelled(pod, _in_units(pod.requests.amounts, 1))
            limits |= _labelled(pod, _in_units(sum_limits(pod), 1000))
        except QuantityError:
            continue
    return exposition(
        [
            _gauge("kube_pod_resource_request", "What the pod asks for, by resource and its unit.", requests),
            _gauge("kube_pod_resource_limit", "What the pod may use at most, by resource and its unit.", limits),
        ]
    )


def _gauge(name: str, text: str, samples: Samples) -> Gauge:
    return Gauge(name, text, lambda: samples)


def _in_units(amounts: Mapping[str, int], divisor: int) -> Iterator[tuple[str, float]]:
    """Each amount in the unit it is shown in; cpu comes in thousandths always."""
    for resource, amount in amounts.items():
        if amount:
            yield resource, amount / (1000 if resource == "cpu" else divisor)


def _labelled(pod: Pod, amounts: Iterable[tuple[str, float]]) -> dict[Labels, float]:
    of_pod: Labels = (
        ("namespace", pod.namespace),
        ("pod", pod.name),
        ("node", pod.spec.node_name),
        ("scheduler", pod.spec.scheduler_name),
        ("priority", str(pod.spec.priority)),
    )
    return {(*of_pod, ("resource", resource), ("unit", _unit(resource))): amount for resource, amount in amounts}


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in _BYTES or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""
