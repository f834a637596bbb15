"""Access to the Kubernetes API server: requests, list and watch, leader election. Imports nothing else of Berth.

    credentials ──► client ──► watch (Reflector)        in the event loop
         │            └──► http (HTTP/1.1, streams), http2 (one shared connection)
         ├──► blocking_client                           in any thread
         └──► leader_election                           in a thread of its own

``retry`` and ``log_once`` are what all of them need when a server is slow or away; ``events`` has the parts of Event
objects. The names below can be imported from here; each is loaded when it is first used, so that a program that only
reads files does not load the HTTP stack.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
    from scheduler_runtime.kube.credentials import Credentials, CredentialsError
    from scheduler_runtime.kube.http.stream import Stream
    from scheduler_runtime.kube.leader_election import LeaderElector, LeaseError
    from scheduler_runtime.kube.log_once import LogOnce
    from scheduler_runtime.kube.retry import Backoff
    from scheduler_runtime.kube.watch import Change, Kind, Reflector
    from scheduler_runtime.kube.watch.reflector_group import NotListedError

__all__ = [
    "ApiError",
    "Backoff",
    "Change",
    "Client",
    "Credentials",
    "CredentialsError",
    "Kind",
    "LeaderElector",
    "LeaseError",
    "LogOnce",
    "NoResponseError",
    "NotListedError",
    "Reflector",
    "Stream",
]

_MODULES = {
    "ApiError": "client",
    "Backoff": "retry",
    "Change": "watch.kinds",
    "Client": "client",
    "Credentials": "credentials",
    "CredentialsError": "credentials",
    "Kind": "watch.kinds",
    "LeaderElector": "leader_election.elector",
    "LeaseError": "leader_election.lease",
    "LogOnce": "log_once",
    "NoResponseError": "client",
    "NotListedError": "watch.reflector_group",
    "Reflector": "watch.reflector",
    "Stream": "http.stream",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module (PEP 562). Raises AttributeError."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value
