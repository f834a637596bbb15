"""Leader election with a Lease, by the rules of client-go, for every process of Berth.

    leadership = Leadership(settings)
    leadership.start()
    await leadership.won.wait()

Its elector blocks a thread of its own and has a connection of its own, so that a busy event loop cannot make it late.
``leads_until`` is the instant until which acting as the leader is safe: code that acts compares it with
``time.monotonic()`` right before each request.
"""

from scheduler_runtime.kube.credentials import CredentialsError
from scheduler_runtime.kube.leader_election.elector import LeaderCallbacks, LeaderElector, LeaseClient, create_elector
from scheduler_runtime.kube.leader_election.leadership import Leadership
from scheduler_runtime.kube.leader_election.lease import (
    HttpLeaseClient,
    Lease,
    LeaseError,
    LeaseSettings,
    process_name,
    unique_identity,
)

__all__ = [
    "CredentialsError",
    "HttpLeaseClient",
    "LeaderCallbacks",
    "LeaderElector",
    "Leadership",
    "Lease",
    "LeaseClient",
    "LeaseError",
    "LeaseSettings",
    "create_elector",
    "process_name",
    "unique_identity",
]
