"""What the scheduler believes, for people: its cache and its queue, and where the API server says otherwise.

Names and numbers, and errors as a pod's events have them: nothing of its spec that might be a secret.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from scheduler_runtime.framework import Progress
from scheduler_runtime.kube.blocking_client import request
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.scheduling.pending import QueuedPod, SchedulingQueue
from scheduler_runtime.state.cache import Cache, PlacedPod
from scheduler_runtime.state.objects import QuantityError

logger = logging.getLogger(__name__)

PAGE = 1000


def dump_of_cache(cache: Cache) -> dict[str, Any]:
    """Every node with what it offers, what is asked for there, and its pods."""
    by_node: dict[str, list[PlacedPod]] = {}
    for held in cache.snapshot():
        by_node.setdefault(held.node, []).append(held)
    table = cache.table
    names = list(table.names)
    resources = sorted(table.resources)
    offered = {each: table.allocatable(each).tolist() for each in resources}
    asked = {each: table.requested(each).tolist() for each in resources}
    return {
        "nodes": [
            {
                "name": name,
                "allocatable": {each: offered[each][row] for each in resources},
                "requested": {each: asked[each][row] for each in resources},
                "pods": [_held(each) for each in by_node.pop(name, ())],
            }
            for row, name in enumerate(names)
        ],
        "podsOnUnknownNodes": [_held(each) for pods in by_node.values() for each in pods],
    }


def _held(held: PlacedPod) -> dict[str, Any]:
    said: dict[str, Any] = {"name": held.pod.key, "uid": held.pod.uid, "node": held.node, "assumed": held.assumed}
    try:
        return {**said, "requests": held.pod.requests.amounts}
    except QuantityError as error:
        return {**said, "error": str(error)}


def dump_of_pending(pending: SchedulingQueue, now: float, steps: Progress) -> dict[str, Any]:
    """Every waiting pod by where it waits, the longest there first; of those that are placed what ``steps`` know."""
    places: dict[str, list[dict[str, Any]]] = {}
    waits_for = steps.told(now)
    for entry in sorted(pending.entries(), key=lambda each: each.added_at):
        places.setdefault(entry.place.value, []).append(_waiting(entry, now, waits_for.get(entry.uid)))
    return places


def _waiting(entry: QueuedPod, now: float, waits_for: list[str] | None) -> dict[str, Any]:
    return {
        "name": entry.pod.key,
        "uid": entry.uid,
        "profile": entry.profile,
        "seconds": round(now - entry.added_at, 3),
        "attempts": entry.attempts,
        "rejectedBy": sorted(entry.plugins),
        **({"gate": entry.gate} if entry.gate else {}),
        **({"error": entry.error} if entry.error else {}),
        **({"waitsFor": waits_for} if waits_for else {}),
    }


def log(cache: Cache, pending: SchedulingQueue, steps: Progress) -> None:
    """Write all of it to the log, a line for each node and each waiting pod."""
    nodes = dump_of_cache(cache)
    for node in nodes["nodes"]:
        pods = [pod["name"] for pod in node["pods"]]
        logger.info("cached node", extra={**_without(node, "pods", "name"), "node": node["name"], "pods": pods})
    for pod in nodes["podsOnUnknownNodes"]:
        logger.info("cached pod on an unknown node", extra={"pod": pod["name"], **_without(pod, "name")})
    for place, entries in dump_of_pending(pending, time.monotonic(), steps).items():
        for entry in entries:
            logger.info("waiting pod", extra={"place": place, "pod": entry["name"], **_without(entry, "name")})


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


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


def differences(cache: Cache, credentials: Credentials, user_agent: str) -> dict[str, list[str]]:
    """Where the cache and the API server differ now; what is on its way differs for a moment.

    Raises RequestFailedError.
    """
    nodes = {each.metadata.name for each in _listed(credentials, "/api/v1/nodes", user_agent)}
    pods = {
        each.metadata.uid: each
        for each in _listed(credentials, "/api/v1/pods", user_agent)
        if each.spec.node_name and each.status.phase not in ("Succeeded", "Failed")
    }
    held = {each.pod.uid: each for each in cache.snapshot()}
    known = set(cache.table.names)
    return {
        "nodesMissing": sorted(nodes - known),
        "nodesRedundant": sorted(known - nodes),
        "podsMissing": sorted(f"{each.metadata.namespace}/{each.metadata.name}" for each in _absent(pods, held)),
        "podsRedundant": sorted(each.pod.key for each in _absent(held, pods) if not each.assumed),
        "podsAssumed": sorted(each.pod.key for each in _absent(held, pods) if each.assumed),
        "podsElsewhere": sorted(
            f"{each.pod.key} is on {pods[uid].spec.node_name}, not on {each.node}"
            for uid, each in held.items()
            if uid in pods and pods[uid].spec.node_name != each.node
        ),
    }


def _absent(these: dict[str, Any], others: dict[str, Any]) -> Iterator[Any]:
    return (each for uid, each in these.items() if uid not in others)


def _listed(credentials: Credentials, path: str, user_agent: str) -> Iterator[_Object]:
    """Every object, a page at a time."""
    params = {"limit": str(PAGE)}
    while True:
        page = _decode(request(credentials, "GET", path, user_agent=user_agent, params=params, seconds=30))
        yield from page.items
        if not page.metadata.cont:
            return
        params["continue"] = page.metadata.cont
