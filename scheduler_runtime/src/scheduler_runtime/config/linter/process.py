"""Settings of the whole process: its Lease, its connection, the share of the cluster that it looks at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from scheduler_runtime.catalog.syntax import Duration
from scheduler_runtime.config.linter.checks import Match, Severity, check, check_of
from scheduler_runtime.config.linter.inputs import DocumentInput
from scheduler_runtime.config.linter.nodes import deprecated_label
from scheduler_runtime.config.models import DEFAULT_SCHEDULER_NAME

_PLAIN = re.compile(r"(?!(?:yes|no|on|off|true|false|null)$)[a-z][a-z0-9-]+")
"""Text that YAML reads as text, without quotes."""
_JITTER = 1.2
"""The factor of client-go's leader elector, by which a retry may come later."""
_DEFAULT_QPS = 50
_FEW_PERCENT = 10
_MIN_FEASIBLE_NODES = 100
"""kube-scheduler never stops its search before that many feasible nodes: minFeasibleNodesToFind."""
_EXAMPLE_NODES = 2000
_LONGEST_LEASE_SECONDS = 2**31 - 1
"""leaseDurationSeconds of a Lease is an int32."""
_MEDIA_TYPES = ("application/json", "application/vnd.kubernetes.protobuf", "application/cbor")


@check("SharedLeaseName", Severity.WARNING)
def shared_lease_name(document: DocumentInput) -> Iterator[Match]:
    """A second scheduler uses the Lease of the cluster's own kube-scheduler, so only one of the two runs.

    Give leaderElection a resourceName of its own.
    """
    lease = document.fields.leader_election
    names = [profile.scheduler_name for profile in document.fields.profiles]
    if not lease.leader_elect or DEFAULT_SCHEDULER_NAME in names:
        return
    if (lease.resource_namespace, lease.resource_name) == ("kube-system", "kube-scheduler"):
        own_lease = "second-scheduler" if names[0] == "kube-scheduler" else names[0]
        quoted = own_lease if _PLAIN.fullmatch(own_lease) else json.dumps(own_lease)
        yield Match(
            "leaderElection.resourceName",
            f"{names[0]} and the cluster's kube-scheduler would both want the Lease kube-system/kube-scheduler; "
            "the one that starts second never leads",
            f"leaderElection: {{resourceName: {quoted}}}",
        )


@check("RenewDeadlineTooShort", Severity.ERROR)
def renew_deadline_too_short(document: DocumentInput) -> Iterator[Match]:
    """renewDeadline is not longer than 1.2 times retryPeriod, so kube-scheduler exits at its start.

    Make renewDeadline at least 1.3 times retryPeriod.
    """
    lease = document.fields.leader_election
    deadline, retry = Duration(lease.renew_deadline).seconds, Duration(lease.retry_period).seconds
    if not lease.leader_elect or not 0 < deadline <= _JITTER * retry:
        return
    # Suggest a fifth of the deadline, as by default; where the deadline is no usual time, all the defaults.
    if not 1 <= deadline <= 3600:
        fix = "{leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}"
    else:
        fix = f"{{retryPeriod: {int(deadline * 200)}ms}}" if deadline % 5 else f"{{retryPeriod: {int(deadline / 5)}s}}"
    yield Match(
        "leaderElection.renewDeadline",
        f"{lease.renew_deadline} is not longer than {_JITTER} × retryPeriod, {lease.retry_period}; "
        "the document is accepted, and the elector then refuses to run",
        f"leaderElection: {fix}",
    )


@check("LeaseDurationOutOfRange", Severity.ERROR)
def lease_duration_out_of_range(document: DocumentInput) -> Iterator[Match]:
    """leaseDuration does not fit into a Lease, so the API server refuses the Lease and no scheduler ever leads.

    Make leaseDuration a time between a second and a day.
    """
    lease = document.fields.leader_election
    # As client-go writes it: whole seconds, rounded down.
    if lease.leader_elect and not 1 <= int(lease.lease_duration_seconds) <= _LONGEST_LEASE_SECONDS:
        yield Match(
            "leaderElection.leaseDuration",
            f"a Lease holds whole seconds from 1 to {_LONGEST_LEASE_SECONDS}, and {lease.lease_duration} is not among "
            "them; the document is accepted, and the API server then refuses each attempt to lead",
            "leaderElection: {leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}",
        )


@check_of(deprecated_label.code)
def deprecated_lock(document: DocumentInput) -> Iterator[Match]:
    lease = document.fields.leader_election
    if lease.resource_lock not in ("", "leases"):
        message = f"{lease.resource_lock} is no lock any more; it goes unnoticed only while leaderElect is false"
        yield Match("leaderElection.resourceLock", message, "resourceLock: leases")


@check("TinyQPS", Severity.WARNING)
def tiny_qps(document: DocumentInput) -> Iterator[Match]:
    """The scheduler may send so few requests per second that it binds pods more slowly than they arrive.

    Raise clientConnection.qps and burst, or set qps to -1 for no limit.
    """
    qps = document.fields.client_connection.qps
    if 0 < qps < _DEFAULT_QPS:
        yield Match(
            "clientConnection.qps",
            f"{qps:g} requests a second bind at most {qps:g} pods a second; kube-scheduler's default is {_DEFAULT_QPS}",
            "clientConnection: {qps: -1}",
        )


@check("PercentageTooLow", Severity.WARNING)
def percentage_too_low(document: DocumentInput) -> Iterator[Match]:
    """kube-scheduler evaluates so few nodes that the best ones are rarely among them, and replicas are hardly spread.

    Leave percentageOfNodesToScore out, or set it to 10 or more.
    """
    own = [profile.percentage_of_nodes_to_score for profile in document.fields.profiles]
    places = [(f"profiles[{index}].percentageOfNodesToScore", percentage) for index, percentage in enumerate(own)]
    if any(percentage is None for percentage in own):
        places.insert(0, ("percentageOfNodesToScore", document.fields.percentage_of_nodes_to_score))
    # Left out, kube-scheduler looks at 50 percent less one for each 125 nodes, and Berth's own scheduler at all nodes.
    adaptive = _feasible_nodes(50 - _EXAMPLE_NODES // 125)
    by_default = _EXAMPLE_NODES if document.engine == "Python" else adaptive
    for path, percentage in places:
        if percentage is not None and 0 < percentage < _FEW_PERCENT:
            yield Match(
                path,
                f"at {percentage} percent the search ends after {_feasible_nodes(percentage)} of {_EXAMPLE_NODES} "
                f"nodes; left out it would be {by_default}",
                "percentageOfNodesToScore: 0",
            )


def _feasible_nodes(percentage: int) -> int:
    """Return after how many feasible nodes of the example the search ends."""
    return max(_MIN_FEASIBLE_NODES, _EXAMPLE_NODES * percentage // 100)


@check("ZeroMeansDefault", Severity.WARNING)
def zero_means_default(document: DocumentInput) -> Iterator[Match]:
    """A 0 is written where kube-scheduler replaces it by its default; it means neither zero nor unlimited.

    Leave the field out, or write the value that you want.
    """
    connection = document.fields.client_connection
    if connection.qps == 0:
        yield Match("clientConnection.qps", f"0 is read as {_DEFAULT_QPS}; no limit is -1", "qps: -1")
    elif connection.burst == 0 and connection.qps > 0:
        yield Match("clientConnection.burst", f"0 is read as {2 * _DEFAULT_QPS}", f"burst: {2 * _DEFAULT_QPS}")


@check("UnknownContentType", Severity.ERROR)
def unknown_content_type(document: DocumentInput) -> Iterator[Match]:
    """The scheduler uses a media type that no Kubernetes client supports, so its requests fail.

    Leave contentType out, or write application/json.
    """
    content_type = document.fields.client_connection.content_type
    if content_type and content_type.partition(";")[0].strip().lower() not in _MEDIA_TYPES:
        message = f"{content_type!r} is none of {', '.join(_MEDIA_TYPES)}"
        yield Match("clientConnection.contentType", message, "contentType: application/vnd.kubernetes.protobuf")
