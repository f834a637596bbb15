"""Settings of the whole process: its Lease, its connection."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import DEFAULT_SCHEDULER_NAME
from ..findings import Severity
from .code import Code, Told, check
from .subjects import Whole


@check(
    Code(
        "SharedLeaseName",
        Severity.ERROR,
        "A second scheduler asks for the Lease of the cluster's own kube-scheduler, so only one of the two runs.",
        "Give leaderElection a resourceName of its own.",
    )
)
def shared_lease_name(whole: Whole) -> Iterator[Told]:
    lease = whole.document.leader_election
    names = [profile.scheduler_name for profile in whole.document.profiles]
    if not lease.leader_elect or DEFAULT_SCHEDULER_NAME in names:
        return
    if (lease.resource_namespace, lease.resource_name) == ("kube-system", "kube-scheduler"):
        yield Told(
            "leaderElection.resourceName",
            f"{names[0]} would compete with the cluster's kube-scheduler for the Lease kube-system/kube-scheduler; "
            "whichever comes second waits for ever",
            f"leaderElection: {{resourceName: {names[0]}}}",
        )


@check(
    Code(
        "TinyQPS",
        Severity.WARNING,
        "The scheduler may send so few requests a second that it cannot bind pods as fast as they come.",
        "Raise clientConnection.qps and burst, or set qps to -1 for no limit.",
    )
)
def tiny_qps(whole: Whole) -> Iterator[Told]:
    connection = whole.document.client_connection
    qps = connection.qps or 50.0
    if 0 < qps < 50:
        yield Told(
            "clientConnection.qps",
            f"{connection.qps:g} requests a second are less than kube-scheduler's default of 50; "
            "each pod takes two or more",
            "clientConnection: {qps: 50, burst: 100}",
        )
