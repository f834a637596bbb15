"""JSON dumps of the cache and the queue for debugging, and the differences between the cache and the API server.

Dumps have names and numbers, and errors as a pod's events show them: nothing of a spec that might be a secret.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from scheduler_runtime.framework import Progress
from scheduler_runtime.kube.blocking_client import request
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.kube.watch.unreadable import without_managed_fields
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.state.cache import Cache, PlacedPod
from scheduler_runtime.state.objects import QuantityError

logger = logging.getLogger(__name__)

PAGE = 1000
"""How many objects one request lists."""


def dump_cache(cache: Cache, reflectors: Iterable[Reflector[Any]] = ()) -> dict[str, Any]:
    """Return every node with its allocatable and requested resources and its pods, and the objects set aside."""
    by_node: dict[str, list[PlacedPod]] = {}
    for placed in cache.snapshot():
        by_node.setdefault(placed.node, []).append(placed)
    table = cache.table
    names = list(table.names)
    resources = sorted(table.resources)
    allocatable = {resource: table.allocatable(resource).tolist() for resource in resources}
    requested = {resource: table.requested(resource).tolist() for resource in resources}
    return {
        "nodes": [
            {
                "name": name,
                "allocatable": {resource: allocatable[resource][row] for resource in resources},
                "requested": {resource: requested[resource][row] for resource in resources},
                "pods": [_dump_pod(placed) for placed in by_node.pop(name, ())],
            }
            for row, name in enumerate(names)
        ],
        "podsOnUnknownNodes": [_dump_pod(placed) for pods in by_node.values() for placed in pods],
        "setAside": [
            {"path": reflector.kind.path, "name": key, "reason": aside.reason, "problem": aside.problem}
            for reflector in reflectors
            for key, aside in list(reflector.set_aside.items())
        ],
    }


def _dump_pod(placed: PlacedPod) -> dict[str, Any]:
    """Return a pod on a node with its requests, or with why they cannot be read."""
    pod = placed.pod
    dump: dict[str, Any] = {"name": pod.key, "uid": pod.uid, "node": placed.node, "assumed": placed.assumed}
    try:
        return {**dump, "requests": pod.requests.amounts}
    except QuantityError as error:
        return {**dump, "error": str(error)}


def dump_queue(queue: SchedulingQueue, now: float, progress: Progress) -> dict[str, Any]:
    """Return every pod in the queue by its place there, the longest waiting first.

    Pods that are placed also have what they wait for according to ``progress``.
    """
    places: dict[str, list[dict[str, Any]]] = {}
    waits_for = progress.describe(now)
    for entry in sorted(queue.entries(), key=lambda entry: entry.added_at):
        optional = {"gate": entry.gate, "error": entry.error, "waitsFor": waits_for.get(entry.uid)}
        dump = {
            "name": entry.pod.key,
            "uid": entry.uid,
            "profile": entry.profile,
            "seconds": round(now - entry.added_at, 3),
            "attempts": entry.attempts,
            "rejectedBy": sorted(entry.plugins),
            **{name: value for name, value in optional.items() if value},
        }
        places.setdefault(entry.place.value, []).append(dump)
    return places


def log_dumps(cache: Cache, queue: SchedulingQueue, progress: Progress) -> None:
    """Write both dumps to the log, a line for each node and each waiting pod."""
    nodes = dump_cache(cache)
    for node in nodes["nodes"]:
        pods = [pod["name"] for pod in node["pods"]]
        logger.info("cached node", extra={**_without(node, "pods", "name"), "node": node["name"], "pods": pods})
    for pod in nodes["podsOnUnknownNodes"]:
        logger.info("cached pod on an unknown node", extra={"pod": pod["name"], **_without(pod, "name")})
    for place, entries in dump_queue(queue, time.monotonic(), progress).items():
        for entry in entries:
            logger.info("waiting pod", extra={"place": place, "pod": entry["name"], **_without(entry, "name")})


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    # ``name`` is an attribute of log records already, which ``extra`` must not replace.
    return {name: value for name, value in values.items() if name not in names}


# Objects, as far as they are compared.


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""
    uid: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct):
    phase: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _ListMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    cont: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    items: list[_Object]
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


_decode = msgspec.json.Decoder(_List).decode


def compare_with_api(cache: Cache, credentials: Credentials, user_agent: str) -> dict[str, list[str]]:
    """Return the differences between the cache and the API server, by their kind. Raises RequestFailedError.

    Changes that are on their way to the cache are listed, too: a difference means something if it stays.
    """
    nodes = {node.metadata.name for node in _list_objects(credentials, "/api/v1/nodes", user_agent)}
    pods = {
        pod.metadata.uid: pod
        for pod in _list_objects(credentials, "/api/v1/pods", user_agent)
        if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed")
    }
    # The cache is read after the lists: what came meanwhile is in the cache alone, and redundant for the moment.
    cached = {placed.pod.uid: placed for placed in cache.snapshot()}
    cached_nodes = set(cache.table.names)
    missing = [pod for uid, pod in pods.items() if uid not in cached]
    redundant = [placed for uid, placed in cached.items() if uid not in pods]
    return {
        "nodesMissing": sorted(nodes - cached_nodes),
        "nodesRedundant": sorted(cached_nodes - nodes),
        "podsMissing": sorted(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in missing),
        "podsRedundant": sorted(placed.pod.key for placed in redundant if not placed.assumed),
        "podsAssumed": sorted(placed.pod.key for placed in redundant if placed.assumed),
        "podsElsewhere": sorted(
            f"{placed.pod.key} is on {pods[uid].spec.node_name}, not on {placed.node}"
            for uid, placed in cached.items()
            if uid in pods and pods[uid].spec.node_name != placed.node
        ),
    }


def _list_objects(credentials: Credentials, path: str, user_agent: str) -> Iterator[_Object]:
    """Yield every object, requesting a page at a time."""
    params = {"limit": str(PAGE)}
    while True:
        text = request(credentials, "GET", path, user_agent=user_agent, params=params, seconds=30)
        page = _decode(without_managed_fields(text))  # they may be deeper than can be decoded
        yield from page.items
        if not page.metadata.cont:
            return
        params["continue"] = page.metadata.cont
