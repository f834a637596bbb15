"""The seam to kopf: what happened in the cluster becomes a key in the queue. Nothing here decides anything.

kopf is an event source and no more. Only ``on.event`` handlers are used: they write nothing to the objects, no
annotations and no finalizers, and they keep no state.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import kopf

from scheduler_operator.kopf_seam.http_session import KopfSession
from scheduler_operator.reconcile.reconciler import Key
from scheduler_operator.resources import kinds
from scheduler_operator.resources.labels import GENERATED, PROCESSES, PROFILE_LABEL
from scheduler_runtime.config import LoadReport, loaded

REGISTRY = kopf.OperatorRegistry()

# For peering, which is off. Left to itself kopf makes it of the user's name, and the user of a container has none.
IDENTITY: Any = "berth"

DISCOVERY_SECONDS = 5.0
ENDING_SECONDS = 30.0
"""After which kopf, should it hang when it ends, kills the process. It would hold the Lease and watch nothing."""


@dataclass(frozen=True, slots=True)
class KopfMemo:
    """What the handlers reach: where to put what they saw, and what kopf asks the API server through."""

    look_at: Callable[[Key], None]
    exchanges: KopfSession
    holders: dict[str, str] = field(default_factory=dict)
    """Who held each Lease when it was last seen: a renewal is nothing to look at, another leader is."""
    said: dict[str, LoadReport] = field(default_factory=dict)
    """What each scheduler said when its pod was last seen: what else there is to say the Deployment says."""


@kopf.on.login(registry=REGISTRY)
async def log_in(memo: KopfMemo, **_: Any) -> kopf.AiohttpSession:
    return connection(memo.exchanges)


def connection(exchanges: KopfSession) -> kopf.AiohttpSession:
    """How kopf reaches the API server. It asks when it starts, and when it has closed the last one."""
    return kopf.AiohttpSession(server=exchanges.server, aiohttp_session=exchanges.session())


@kopf.on.event(kinds.PROFILE.group, kinds.PROFILE.version, kinds.PROFILE.plural, registry=REGISTRY)
async def profile_seen(name: str, memo: KopfMemo, **_: Any) -> None:
    memo.look_at(Key(kinds.PROFILE.name, name))


@kopf.on.event(kinds.PLUGIN_CONFIG.group, kinds.PLUGIN_CONFIG.version, kinds.PLUGIN_CONFIG.plural, registry=REGISTRY)
async def plugin_config_seen(name: str, memo: KopfMemo, **_: Any) -> None:
    memo.look_at(Key(kinds.PLUGIN_CONFIG.name, name))


async def generated_seen(meta: Mapping[str, Any], memo: KopfMemo, **_: Any) -> None:
    if name := owner(meta):
        memo.look_at(Key(kinds.PROFILE.name, name))


async def lease_seen(
    type: str | None,  # noqa: A002
    meta: Mapping[str, Any],
    spec: Mapping[str, Any],
    memo: KopfMemo,
    **_: Any,
) -> None:
    name, holder = meta.get("name", ""), str(spec.get("holderIdentity") or "")
    before = memo.holders.pop(name, "")
    if type != "DELETED":
        memo.holders[name] = holder
    if type == "DELETED" or holder != before:
        await generated_seen(meta, memo)


async def pod_seen(
    type: str | None,  # noqa: A002
    meta: Mapping[str, Any],
    status: Mapping[str, Any],
    memo: KopfMemo,
    **_: Any,
) -> None:
    name = meta.get("name", "")
    now = None if type == "DELETED" else loaded(status.get("conditions") or [])
    if memo.said.pop(name, None) != now:
        await generated_seen(meta, memo)
    if now is not None:
        memo.said[name] = now


_SEEN: Mapping[kinds.Kind, Any] = {kinds.LEASE: lease_seen, kinds.POD: pod_seen}
for _kind in kinds.WATCHED:
    _seen = _SEEN.get(_kind, generated_seen)
    kopf.on.event(_kind.group, _kind.version, _kind.plural, registry=REGISTRY)(_seen)


def owner(metadata: Mapping[str, Any]) -> str:
    """The profile that a generated object was made for; empty when the object only looks like one of ours."""
    owners = (each for each in metadata.get("ownerReferences", ()) if each["kind"] == kinds.PROFILE.name)
    return next((str(each["name"]) for each in owners), str(metadata.get("labels", {}).get(PROFILE_LABEL, "")))


async def watch(seam: KopfMemo, namespace: str, on_ready: Callable[[], None]) -> None:
    """Run kopf until cancelled. Raises what it dies of; `exchanges` keeps from it what is known to be deadly."""
    ready = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_tell(ready, on_ready), name="kopf is ready")
            group.create_task(check_discovery(seam.exchanges, namespace), name="discovery")
            await kopf.operator(
                registry=REGISTRY,
                settings=settings(),
                memo=seam,
                identity=IDENTITY,
                standalone=True,
                namespaces=[namespace],
                ready_flag=ready,
            )
            raise RuntimeError("kopf ended")
    finally:
        asyncio.get_running_loop().set_exception_handler(_unheard)
        await seam.exchanges.close()


def _unheard(loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """Say nothing of the tasks that kopf leaves behind, a page for each: what it died of is raised."""


async def _tell(ready: asyncio.Event, on_ready: Callable[[], None]) -> None:
    await ready.wait()
    on_ready()


async def check_discovery(exchanges: KopfSession, namespace: str, after: float = DISCOVERY_SECONDS) -> None:
    """Raise if kopf does not watch everything: it asks once which kinds there are, and is content with any answer."""
    await exchanges.watched.wait()
    await asyncio.sleep(after)
    wanted = {kind.collection(namespace) for kind in (kinds.PROFILE, kinds.PLUGIN_CONFIG, *kinds.WATCHED)}
    if unknown := wanted - exchanges.asked:
        raise RuntimeError(f"the API server did not tell of {', '.join(sorted(unknown))} among what it has")


class RetryDelays:
    """How many seconds to rest between attempts of one request. There is no last attempt: giving up mends nothing."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain((0.5, 1.0, 2.0, 4.0), itertools.repeat(8.0))


def settings() -> kopf.OperatorSettings:
    """List and watch what is needed, and nothing else: no other namespace, no other object, no discovery."""
    chosen = kopf.OperatorSettings()
    chosen.posting.enabled = False
    chosen.scanning.disabled = True
    chosen.networking.request_timeout = 30
    chosen.networking.connect_timeout = 5
    chosen.networking.error_backoffs = RetryDelays()
    chosen.watching.client_timeout = 600
    chosen.process.ultimate_exiting_timeout = ENDING_SECONDS
    for kind in kinds.GENERATED:
        chosen.watching.label_selectors[kind.group, kind.version, kind.plural] = GENERATED
    chosen.watching.label_selectors[kinds.POD.group, kinds.POD.version, kinds.POD.plural] = PROCESSES
    return chosen
