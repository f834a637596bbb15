"""The seam to kopf: what happened in the cluster becomes a key in the queue. Nothing here decides anything.

kopf is an event source and no more. Only ``on.event`` handlers are used: they write nothing to the objects, no
annotations and no finalizers, and they keep no state.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import kopf

from scheduler_operator import kinds
from scheduler_operator.credentials import Credentials
from scheduler_operator.labels import GENERATED, PROFILE_LABEL
from scheduler_operator.reconcile import Key

REGISTRY = kopf.OperatorRegistry()

# For peering, which is off. Left to itself kopf makes it of the user's name, and the user of a container has none.
IDENTITY: Any = "berth"

SHORTEST_LOGIN = timedelta(seconds=30)
BEFORE_EXPIRY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Seam:
    """What the handlers reach: where to put what they saw, and how kopf logs in."""

    look_at: Callable[[Key], None]
    credentials: Credentials
    holders: dict[str, str] = field(default_factory=dict)
    """Who held each Lease when it was last seen: a renewal is nothing to look at, another leader is."""


@kopf.on.login(registry=REGISTRY)
async def log_in(memo: Seam, **_: Any) -> kopf.ConnectionInfo:
    return connection(memo.credentials)


def connection(credentials: Credentials) -> kopf.ConnectionInfo:
    """How kopf reaches the API server. It asks when it starts, and when its token is refused or expires."""
    credentials.refused()
    configuration, token, expires = credentials.configuration, credentials.token, credentials.expires
    return kopf.ConnectionInfo(
        server=configuration.host,
        ca_path=configuration.ssl_ca_cert,
        insecure=not configuration.verify_ssl,
        token=token or None,
        certificate_path=configuration.cert_file,
        private_key_path=configuration.key_file,
        proxy_url=configuration.proxy,
        expiration=max(expires - BEFORE_EXPIRY, datetime.now(UTC) + SHORTEST_LOGIN) if expires else None,
    )


@kopf.on.event(kinds.PROFILE.group, kinds.PROFILE.version, kinds.PROFILE.plural, registry=REGISTRY)
async def profile_seen(name: str, memo: Seam, **_: Any) -> None:
    memo.look_at(Key(kinds.PROFILE.name, name))


@kopf.on.event(kinds.PLUGIN_CONFIG.group, kinds.PLUGIN_CONFIG.version, kinds.PLUGIN_CONFIG.plural, registry=REGISTRY)
async def plugin_config_seen(name: str, memo: Seam, **_: Any) -> None:
    memo.look_at(Key(kinds.PLUGIN_CONFIG.name, name))


async def generated_seen(meta: Mapping[str, Any], memo: Seam, **_: Any) -> None:
    if name := owner(meta):
        memo.look_at(Key(kinds.PROFILE.name, name))


async def lease_seen(
    type: str | None,  # noqa: A002
    meta: Mapping[str, Any],
    spec: Mapping[str, Any],
    memo: Seam,
    **_: Any,
) -> None:
    name, holder = meta.get("name", ""), str(spec.get("holderIdentity") or "")
    before = memo.holders.pop(name, "")
    if type != "DELETED":
        memo.holders[name] = holder
    if type == "DELETED" or holder != before:
        await generated_seen(meta, memo)


for _kind in kinds.GENERATED:
    _seen = lease_seen if _kind is kinds.LEASE else generated_seen
    kopf.on.event(_kind.group, _kind.version, _kind.plural, registry=REGISTRY)(_seen)


def owner(metadata: Mapping[str, Any]) -> str:
    """The profile that a generated object was made for; empty when the object only looks like one of ours."""
    owners = (each for each in metadata.get("ownerReferences", ()) if each["kind"] == kinds.PROFILE.name)
    return next((str(each["name"]) for each in owners), str(metadata.get("labels", {}).get(PROFILE_LABEL, "")))


async def watch(seam: Seam, namespace: str, on_ready: Callable[[], None]) -> None:
    """Run kopf until it ends. By itself it ends only on what it cannot handle, an odd watch event for example."""
    ready = asyncio.Event()
    task = asyncio.create_task(_tell(ready, on_ready), name="kopf is ready")
    try:
        await kopf.operator(
            registry=REGISTRY,
            settings=settings(),
            memo=seam,
            identity=IDENTITY,
            standalone=True,
            namespaces=[namespace],
            ready_flag=ready,
        )
    finally:
        task.cancel()


async def _tell(ready: asyncio.Event, on_ready: Callable[[], None]) -> None:
    await ready.wait()
    on_ready()


def settings() -> kopf.OperatorSettings:
    """List and watch what is needed, and nothing else: no other namespace, no other object, no discovery."""
    chosen = kopf.OperatorSettings()
    chosen.posting.enabled = False
    chosen.scanning.disabled = True
    chosen.networking.request_timeout = 30
    chosen.networking.connect_timeout = 5
    chosen.watching.client_timeout = 600
    chosen.process.ultimate_exiting_timeout = None
    for kind in kinds.GENERATED:
        chosen.watching.label_selectors[kind.group, kind.version, kind.plural] = GENERATED
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)  # it would tell of every event
    return chosen
