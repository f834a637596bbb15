"""Leader election by a Lease, by the rules of client-go, for every process of Berth.

    elector = create_elector(settings, on_started=..., on_stopped=..., on_new_leader=...)
    threading.Thread(target=elector.run).start()

The elector blocks a thread of its own and has a connection of its own, so that a busy event
loop cannot make it late. It tells *until when* acting is safe (``leads_until``); whoever acts
compares that with ``time.monotonic()`` right before each request.
"""

from scheduler_runtime.kube.credentials import CredentialsError
from scheduler_runtime.kube.leader_election.elector import LeaderElector, Lease, LeaseClient
from scheduler_runtime.kube.leader_election.lease_client import HttpLeaseClient, create_elector
from scheduler_runtime.kube.leader_election.lease_record import LeaseError, LeaseSettings, process_name, unique_identity

__all__ = [
    "CredentialsError",
    "HttpLeaseClient",
    "LeaderElector",
    "Lease",
    "LeaseClient",
    "LeaseError",
    "LeaseSettings",
    "create_elector",
    "process_name",
    "unique_identity",
]
