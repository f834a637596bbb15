"""Handlers and settings for kopf: each event in the cluster becomes a key in the work queue. Nothing is decided here.

kopf is an event source and no more. Only ``on.event`` handlers are used: they write nothing to the objects, neither
annotations nor finalizers, and keep no state there.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import kopf

from scheduler_operator.kopf_seam.http_session import KopfSession
from scheduler_operator.reconcile.reconciler import Key
from scheduler_operator.resources import kinds
from scheduler_operator.resources.names import GENERATED_SELECTOR, SCHEDULER_PODS_SELECTOR, profile_of

REGISTRY = kopf.OperatorRegistry()

# For peering, which is off. Left to itself kopf makes it of the user's name, and the user of a container has none.
IDENTITY: Any = "berth"

DISCOVERY_SECONDS = 5.0
LIST_PAGE = 25
"""Objects that are listed at a time: some are a megabyte."""
LISTED = None
"""The type of kopf's event about an object that was in a list: nothing need have happened to it."""
ENDING_SECONDS = 30.0
"""After this time kopf kills the process, should it hang when it ends: it would hold the Lease and watch nothing."""


@dataclass(frozen=True, slots=True)
class KopfMemo:
    """What the handlers share: the work queue, and kopf's HTTP session."""

    add_work: Callable[[Key, bool], None]
    """Takes a key, and whether others may go first."""
    session: KopfSession


@kopf.on.login(registry=REGISTRY)
async def log_in(memo: KopfMemo, **_: Any) -> kopf.AiohttpSession:
    return connection(memo.session)


def connection(session: KopfSession) -> kopf.AiohttpSession:
    """Return kopf's connection to the API server. kopf asks when it starts, and when it has closed the last one."""
    return kopf.AiohttpSession(server=session.server, aiohttp_session=session.open_session())


@kopf.on.event(kinds.PROFILE.group, kinds.PROFILE.version, kinds.PROFILE.plural, registry=REGISTRY)
async def on_profile(type: str | None, name: str, memo: KopfMemo, **_: Any) -> None:  # noqa: A002
    memo.add_work(Key(kinds.PROFILE.name, name), type is LISTED)


@kopf.on.event(kinds.PLUGIN_CONFIG.group, kinds.PLUGIN_CONFIG.version, kinds.PLUGIN_CONFIG.plural, registry=REGISTRY)
async def on_plugin_config(type: str | None, name: str, memo: KopfMemo, **_: Any) -> None:  # noqa: A002
    memo.add_work(Key(kinds.PLUGIN_CONFIG.name, name), type is LISTED)


async def on_generated(type: str | None, meta: Mapping[str, Any], memo: KopfMemo, **_: Any) -> None:  # noqa: A002
    if name := profile_of(meta):
        memo.add_work(Key(kinds.PROFILE.name, name), type is LISTED)


for _kind in kinds.WATCHED:
    kopf.on.event(_kind.group, _kind.version, _kind.plural, registry=REGISTRY)(on_generated)


async def watch(memo: KopfMemo, namespace: str, on_ready: Callable[[], None]) -> None:
    """Run kopf until cancelled, and call ``on_ready`` when it has started.

    Raises whatever ends kopf; KopfSession keeps from it what is known to do so.
    """
    ready = asyncio.Event()

    async def call_when_ready() -> None:
        await ready.wait()
        on_ready()

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(call_when_ready(), name="kopf is ready")
            group.create_task(check_discovery(memo.session, namespace), name="discovery")
            await kopf.operator(
                registry=REGISTRY,
                settings=settings(),
                memo=memo,
                identity=IDENTITY,
                standalone=True,
                namespaces=[namespace],
                ready_flag=ready,
            )
            raise RuntimeError("kopf ended")
    finally:
        # kopf leaves tasks behind, and the loop would log a page about each: the error that ended kopf is raised.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        await memo.session.close()


async def check_discovery(session: KopfSession, namespace: str, after: float = DISCOVERY_SECONDS) -> None:
    """Raise RuntimeError if kopf does not watch every kind.

    kopf asks once which kinds there are, when it starts, and is content with any answer.
    """
    await session.has_watch.wait()
    await asyncio.sleep(after)
    expected = {kind.collection(namespace) for kind in (kinds.PROFILE, kinds.PLUGIN_CONFIG, *kinds.WATCHED)}
    if missing := expected - session.requested_paths:
        raise RuntimeError(f"the API server did not tell of {', '.join(sorted(missing))} among what it has")


class RetryDelays:
    """Seconds between kopf's attempts of one request. The last is repeated forever: giving up would mend nothing."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain((0.5, 1.0, 2.0, 4.0), itertools.repeat(8.0))


def settings() -> kopf.OperatorSettings:
    """Return settings under which kopf lists and watches what is needed: no other namespace, object or discovery."""
    result = kopf.OperatorSettings()
    result.posting.enabled = False
    result.watching.chunk_size = LIST_PAGE
    result.scanning.disabled = True
    result.networking.request_timeout = 30
    result.networking.connect_timeout = 5
    result.networking.error_backoffs = RetryDelays()
    result.watching.client_timeout = 600
    result.process.ultimate_exiting_timeout = ENDING_SECONDS
    for kind in (*kinds.GENERATED, kinds.REVISION):
        result.watching.label_selectors[kind.group, kind.version, kind.plural] = GENERATED_SELECTOR
    result.watching.label_selectors[kinds.POD.group, kinds.POD.version, kinds.POD.plural] = SCHEDULER_PODS_SELECTOR
    return result
