"""Settings of the whole process: its Lease, its connection, how much of the cluster it looks at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from scheduler_runtime.catalog.durations import Duration
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import DocumentInput
from scheduler_runtime.config.models import DEFAULT_SCHEDULER_NAME

_PLAIN = re.compile(r"(?!(?:yes|no|on|off|true|false|null)$)[a-z][a-z0-9-]+")
"""Text that YAML reads as text, without quotes."""
_JITTER = 1.2
_DEFAULT_QPS = 50
_FEW_PERCENT = 10
_ALWAYS_FOUND = 100
_EXAMPLE_NODES = 2000
_MEDIA_TYPES = ("application/json", "application/vnd.kubernetes.protobuf", "application/cbor")


@check(
    Code(
        "SharedLeaseName",
        Severity.WARNING,
        "A second scheduler asks for the Lease of the cluster's own kube-scheduler, so only one of the two runs.",
        "Give leaderElection a resourceName of its own.",
    )
)
def shared_lease_name(whole: DocumentInput) -> Iterator[Match]:
    lease = whole.document.leader_election
    names = [profile.scheduler_name for profile in whole.document.profiles]
    if not lease.leader_elect or DEFAULT_SCHEDULER_NAME in names:
        return
    if (lease.resource_namespace, lease.resource_name) == ("kube-system", "kube-scheduler"):
        yield Match(
            "leaderElection.resourceName",
            f"{names[0]} and the cluster's kube-scheduler would both want the Lease kube-system/kube-scheduler; "
            "whichever comes second waits for ever",
            f"leaderElection: {{resourceName: {_lease_of(names[0])}}}",
        )


def _lease_of(scheduler: str) -> str:
    """A Lease for a second scheduler, told from that of the first even if it is called so."""
    name = "second-scheduler" if scheduler == "kube-scheduler" else scheduler
    return name if _PLAIN.fullmatch(name) else json.dumps(name)


@check(
    Code(
        "RenewDeadlineTooShort",
        Severity.ERROR,
        "renewDeadline is not longer than 1.2 times retryPeriod, so kube-scheduler ends as soon as it starts.",
        "Make renewDeadline at least 1.3 times retryPeriod.",
    )
)
def renew_deadline_too_short(whole: DocumentInput) -> Iterator[Match]:
    lease = whole.document.leader_election
    deadline, retry = Duration(lease.renew_deadline).seconds, Duration(lease.retry_period).seconds
    if lease.leader_elect and 0 < deadline <= _JITTER * retry:
        yield Match(
            "leaderElection.renewDeadline",
            f"{lease.renew_deadline} is not longer than {_JITTER} × retryPeriod, {lease.retry_period}; "
            "the document is accepted, and the elector then refuses to run",
            f"leaderElection: {_times(deadline)}",
        )


def _times(deadline: float) -> str:
    """A retry period for ``deadline``, a fifth of it as by default; all the defaults where that is no usual time."""
    if not 1 <= deadline <= 3600:
        return "{leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}"
    return f"{{retryPeriod: {int(deadline * 200)}ms}}" if deadline % 5 else f"{{retryPeriod: {int(deadline / 5)}s}}"


@check(
    Code(
        "TinyQPS",
        Severity.WARNING,
        "The scheduler may send so few requests a second that it cannot bind pods as fast as they come.",
        "Raise clientConnection.qps and burst, or set qps to -1 for no limit.",
    )
)
def tiny_qps(whole: DocumentInput) -> Iterator[Match]:
    qps = whole.document.client_connection.qps
    if 0 < qps < _DEFAULT_QPS:
        yield Match(
            "clientConnection.qps",
            f"{qps:g} requests a second bind at most {qps:g} pods a second; kube-scheduler's default is {_DEFAULT_QPS}",
            "clientConnection: {qps: -1}",
        )


@check(
    Code(
        "PercentageTooLow",
        Severity.WARNING,
        "So few nodes are looked at that the best ones are hardly ever among them, nor enough to spread replicas over.",
        "Leave percentageOfNodesToScore out, or set it to 10 or more.",
    )
)
def percentage_too_low(whole: DocumentInput) -> Iterator[Match]:
    document = whole.document
    own = [profile.percentage_of_nodes_to_score for profile in document.profiles]
    places = [(f"profiles[{index}].percentageOfNodesToScore", each) for index, each in enumerate(own)]
    if any(each is None for each in own):
        places.insert(0, ("percentageOfNodesToScore", document.percentage_of_nodes_to_score))
    for path, percentage in places:
        if percentage is not None and 0 < percentage < _FEW_PERCENT:
            yield Match(
                path,
                f"at {percentage} percent the search ends after {_found(percentage)} of {_EXAMPLE_NODES} nodes; "
                f"left out it would be {_left_out(whole)}",
                "percentageOfNodesToScore: 0",
            )


def _left_out(whole: DocumentInput) -> int:
    """How many nodes of the example are looked at where nothing is said: Berth's own scheduler looks at all."""
    return _EXAMPLE_NODES if whole.engine == "Python" else _found(50 - _EXAMPLE_NODES // 125)


def _found(percentage: int) -> int:
    """How many feasible nodes of the example end the search: never fewer than a hundred."""
    return max(_ALWAYS_FOUND, _EXAMPLE_NODES * percentage // 100)


@check(
    Code(
        "ZeroMeansDefault",
        Severity.WARNING,
        "A 0 is written where kube-scheduler reads it as its default, which is neither none nor unlimited.",
        "Leave the field out, or write the value that is meant.",
    )
)
def zero_means_default(whole: DocumentInput) -> Iterator[Match]:
    connection = whole.document.client_connection
    if connection.qps == 0:
        yield Match("clientConnection.qps", f"0 is read as {_DEFAULT_QPS}; no limit is -1", "qps: -1")
    elif connection.burst == 0 and connection.qps > 0:
        yield Match("clientConnection.burst", f"0 is read as {2 * _DEFAULT_QPS}", f"burst: {2 * _DEFAULT_QPS}")


@check(
    Code(
        "UnknownContentType",
        Severity.ERROR,
        "The scheduler is to speak a media type that no Kubernetes client knows, so its requests fail.",
        "Leave contentType out, or write application/json.",
    )
)
def unknown_content_type(whole: DocumentInput) -> Iterator[Match]:
    written = whole.document.client_connection.content_type
    if written and written.partition(";")[0].strip().lower() not in _MEDIA_TYPES:
        message = f"{written!r} is none of {', '.join(_MEDIA_TYPES)}"
        yield Match("clientConnection.contentType", message, "contentType: application/vnd.kubernetes.protobuf")
