"""Reflector: keeps a copy of every object of one kind, and reports each change once, with the object before it.

    list ──► watch ──► event ──► change ──► sink
     ▲         │ ▲
     │ expired │ └─ cut, silent, refused, server restarted: resume after the last version seen
     └─────────┘
   or rolled back

As client-go's tools/cache/reflector.go. No stream is trusted: it may end in the middle of a line, fall silent, repeat
itself or never come back. In any case the sink gets a sequence of changes that leads from nothing to what the API
server holds; an object that vanished unseen is deleted when the next list does not have it.

An object that cannot be decoded, or that the sink does not take in, is set aside until its next version, or until a
list shows it once more: it is logged once, it shows in ``set_aside``, and it holds up no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Generic, Literal

import msgspec

from scheduler_runtime.kube.client import ApiError, Client, NoResponseError, retry_after
from scheduler_runtime.kube.http.stream import Stream
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch.interruption_log import InterruptionLog
from scheduler_runtime.kube.watch.kinds import (
    Change,
    Kind,
    ListPage,
    Object,
    ObjectList,
    T,
    WatchEvent,
    number,
)
from scheduler_runtime.kube.watch.lists import list_pages, stream_list, with_full_list_fallback
from scheduler_runtime.kube.watch.unreadable import (
    UnidentifiedError,
    Unreadable,
    describe,
    read_event,
    read_or_identify,
    read_page,
)
from scheduler_runtime.kube.watch.version_checks import (
    MissingChanges,
    RolledBackError,
    check_not_rolled_back,
    find_missing_changes,
)

logger = logging.getLogger(__name__)

OBJECTS_BETWEEN_YIELDS = 100
"""How many objects of a list are processed before other tasks have their turn."""
SILENCE_SECONDS = 70.0
"""Most API servers send a bookmark every minute: after a longer silence a watch may be dead and is started again."""
SHORTEST_WATCH, LONGEST_WATCH = 300, 600
"""The limits of a watch's random length, as client-go's: none hangs for ever, and not all end at the same moment."""
FAILURES_BEFORE_RELIST = 3
RELIST_SECONDS = 30.0
"""A list is work for the API server: if two are needed within this time, there is a pause between them."""
STEADY_SECONDS = 2.0
"""A watch that has lasted so long works, also if nothing happens."""
LATE_SECONDS = 3.0
"""A watch that has not shown by then what was written before is started again."""
LONGEST_LINE = 32 << 20
"""The most bytes of one line of a watch: some twenty times the largest object that etcd takes by default."""
UNIDENTIFIED = ""
"""The key under which objects are set aside whose names cannot be found."""
_random = random.SystemRandom()


class ExpiredError(Exception):
    """The version to resume from is not available any more: a new list is needed."""


class BrokenError(Exception):
    """The stream ended in a way that means nothing for the objects: the watch resumes."""


Reason = Literal["unreadable", "failed"]


@dataclass(frozen=True, slots=True)
class SetAside:
    """An object that is not used in its newest version: it is unreadable, or taking it in failed."""

    reason: Reason
    problem: str
    log: LogOnce


class Reflector(Generic[T]):
    """List and watch of one kind, without end.

    ``sink`` is called synchronously for each change, in order, after ``objects`` has been updated. An object for which
    it raises is set aside. It has to leave its own state whole, and is called again, as for a new object, for the next
    version or when a list shows this one.
    """

    def __init__(
        self,
        kind: Kind[T],
        client: Client,
        sink: Callable[[Change[T]], None],
        backoff: Backoff | None = None,
    ) -> None:
        self.kind = kind
        self.objects: dict[str, T] = {}
        """The copy, by ``kind.key``."""
        self.resource_version = ""
        """The version up to which ``objects`` is complete; empty before a list, and when a new one is needed."""
        self.synced = asyncio.Event()
        """Set after the first list."""
        self._client = client
        self._sink = sink
        self._backoff = backoff or Backoff()
        self._interruption = InterruptionLog(kind.path, client.server)
        self.set_aside: dict[str, SetAside] = {}
        """By ``kind.key``, the objects that are set aside now. Read by other threads."""
        self._on_rollback: Callable[[], None] = lambda: None
        self._is_failing = False
        self._failures_in_a_row = 0
        self._listed_at = float("-inf")
        self._last_deleted_version = 0
        """The latest version at which the watch has shown a deletion."""
        self._has_watched = False
        """True if there was a watch since the last list, so that the next one resumes."""
        self._unreadable_after = ""
        """The version after which the watch last had a line that cannot be read."""
        self._reports_unchanged = False
        """After a rollback, objects are reported although their version is the same: it may be another object."""
        self._stream: Stream | None = None
        self._version_changed = asyncio.Event()
        self._has_ended = False
        self._catching_up: set[asyncio.Task[None]] = set()

    @property
    def trouble(self) -> str:
        """The reason for which changes do not arrive now; empty when there is none."""
        return self._interruption.sentence

    @property
    def refusal(self) -> ApiError | None:
        """The API server's refusal of this watch; None when it is allowed, or there is no response."""
        return self._interruption.refusal

    async def run(self, on_rollback: Callable[[], None] = lambda: None) -> None:
        """Follow the API server until cancelled.

        ``on_rollback`` is called when the API server's data went back in time and no other reflector of the same client
        has noticed before.
        """
        self._on_rollback = on_rollback
        try:
            while True:
                await self._follow()
        finally:
            self._has_ended = True
            self._interruption.withdraw()
            for task in self._catching_up:
                task.cancel()  # nobody reads the copy any more, so nobody has to wait for it

    async def _follow(self) -> None:
        """List, or watch to the end of one stream; pause after a failure."""
        try:
            if self.resource_version:
                await self._watch()
            else:
                await self._list()
        except (ExpiredError, RolledBackError) as error:
            if isinstance(error, RolledBackError):
                if self._client.report_rollback(str(error)):
                    self._on_rollback()
                self._reports_unchanged = True
            logger.debug("listing %s again: %s", self.kind.path, error)
            self.resource_version = ""
            if asyncio.get_running_loop().time() - self._listed_at < RELIST_SECONDS:
                await asyncio.sleep(self._backoff.next_delay())
            else:
                self._backoff.reset()
        except Exception as error:
            if not isinstance(error, BrokenError | NoResponseError | ApiError | msgspec.MsgspecError):
                logger.exception("watching %s ended unexpectedly, and begins anew with a list", self.kind.path)
                self.resource_version = ""
            if isinstance(error, NoResponseError):
                seconds = min(self._backoff.next_delay(), 5.0)  # there is nobody whom many attempts could overload
            elif isinstance(error, ApiError) and error.status == 429:
                seconds = self._backoff.next_delay(retry_after(error))
            else:
                seconds = max(self._backoff.next_delay(), retry_after(error))
                self._failures_in_a_row += 1
            if self._failures_in_a_row >= FAILURES_BEFORE_RELIST:
                # Perhaps it is the version that the server cannot serve, although it does not say so.
                self._failures_in_a_row = 0
                self.resource_version = ""
            self._is_failing = True
            self._interruption.failing(error)
            await asyncio.sleep(seconds)

    async def catch_up(self) -> None:
        """Return when the copy has everything that was written before this call, or the reflector has ended."""

        async def wait_for_missing_changes() -> None:
            backoff, log = Backoff(), LogOnce(logger)
            missing: MissingChanges | None = None
            while missing is None:
                try:
                    missing = await find_missing_changes(self._client, self.kind, self.objects)
                except Exception as error:  # noqa: BLE001 - whatever it is, a leader has to wait until this is known
                    if not isinstance(error, NoResponseError) or error.sent:  # the client logs a server that is away
                        log.failing(f"whether all of {self.kind.path} is known cannot be found out", str(error))
                    await asyncio.sleep(backoff.next_delay(retry_after(error)))
            log.recovered()
            while missing.any_remain(self.objects, number(self.resource_version)):
                self._version_changed.clear()
                try:
                    async with asyncio.timeout(LATE_SECONDS):
                        await self._version_changed.wait()
                except TimeoutError:
                    if self._stream:  # it may be dead; a new one starts with what the old one did not show
                        self._stream.end()

        if self._has_ended:
            return
        task = asyncio.create_task(wait_for_missing_changes())
        self._catching_up.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._catching_up.remove(task)
            task.cancel()
        if not task.cancelled():  # ``run`` cancels it at its end
            task.result()

    # Listing.

    async def _list(self) -> None:
        """Store the present state, and delete what is not in it any more.

        The list is read while it comes; if it is cut, in pages. The API server cuts a response that takes longer than a
        minute (--request-timeout), and each page has a minute for itself.
        """
        source = self._client, self.kind.path, self.kind.params, self._read_list
        try:
            existing, version = await self._store_all(stream_list(*source, self.kind.read_list))
        except NoResponseError as error:
            if not error.sent:
                raise
            existing, version = await with_full_list_fallback(
                lambda limit: self._store_all(list_pages(*source, limit=limit))
            )
        if UNIDENTIFIED not in existing:  # otherwise an object that seems to be gone may be one without a name
            for key in [key for key in self.objects if key not in existing]:
                self._remove(key)
        for key in [key for key in self.set_aside if key not in existing]:
            self._report_in_use(key)
        self.resource_version = version
        self._last_deleted_version, self._has_watched, self._reports_unchanged = 0, False, False
        self._listed_at = asyncio.get_running_loop().time()
        self._report_recovered()
        self.synced.set()
        self._version_changed.set()

    async def _store_all(self, parts: AsyncGenerator[ObjectList[T | Unreadable], None]) -> tuple[set[str], str]:
        """Store the objects of a list; return their keys, and the version of the list."""
        existing, version = set[str](), ""
        async with contextlib.aclosing(parts):
            async for part in parts:
                version = part.metadata.resource_version
                for count, item in enumerate(part.items, start=1):
                    key = self.kind.key(item)
                    existing.add(key)
                    self._store(key, item)
                    if count % OBJECTS_BETWEEN_YIELDS == 0:
                        await asyncio.sleep(0)
                if isinstance(part, ListPage) and part.unidentified:
                    existing.add(UNIDENTIFIED)
                    self._set_unidentified_aside(part.unidentified[0])
                await asyncio.sleep(0)  # the next part may be there already
        return existing, version

    def _read_list(self, raw: bytes) -> ObjectList[T | Unreadable]:
        return read_page(raw, self.kind.read_list, self.kind.read_item)

    # Watching.

    async def _watch(self) -> None:
        """Apply the events of one stream to its end. Returns when the API server ended it in good order."""
        loop = asyncio.get_running_loop()
        params = {
            **self.kind.params,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.resource_version,
            "timeoutSeconds": str(_random.randint(SHORTEST_WATCH, LONGEST_WATCH)),
        }
        if self._has_watched:
            # The server that responds now may have been restored from a backup since the last stream ended.
            await check_not_rolled_back(self._client, self.kind, self.resource_version)
        self._has_watched = True
        started_at, event_count = loop.time(), 0
        stream = self._client.stream(self.kind.path, params=params, silence_seconds=SILENCE_SECONDS)
        try:
            async with stream as opened:
                self._stream = opened
                steady = loop.call_later(STEADY_SECONDS, self._report_recovered)
                incomplete_line = b""
                try:
                    while chunk := await opened.read():
                        *lines, incomplete_line = (incomplete_line + chunk).split(b"\n")
                        if len(incomplete_line) > LONGEST_LINE:
                            raise ExpiredError(f"a line of the watch exceeds {LONGEST_LINE} bytes")
                        for line in lines:
                            if line:
                                self._apply(self._read_event(line))
                                event_count += 1
                                if self._is_failing:
                                    self._report_recovered()
                        await asyncio.sleep(0)  # a stream that never pauses must not keep the loop to itself
                finally:
                    steady.cancel()
                if incomplete_line:
                    raise BrokenError("the stream was cut in the middle of a line")
        except ApiError as error:
            if error.status == 410:
                raise ExpiredError(str(error)) from error
            raise
        finally:
            self._stream = None
        if not event_count and loop.time() - started_at < 1:
            # Otherwise it would be resumed in a busy loop.
            raise BrokenError("the watch ended at once without an event")

    def _read_event(self, line: bytes) -> WatchEvent:
        """Return the event in a line. Raises BrokenError for one that cannot be read, and ExpiredError for its return.

        The version in such a line is not known, so no watch can resume behind it. A list has the object by itself.
        """
        try:
            return read_event(line)
        except ValueError as error:
            problem = f"a line cannot be read: {describe(error)}"
            if self._unreadable_after != self.resource_version:
                self._unreadable_after = self.resource_version
                raise BrokenError(problem) from error
            self._set_unidentified_aside(problem)
            raise ExpiredError(problem) from error

    def _apply(self, event: WatchEvent) -> None:
        """Apply one event to the copy. Raises ExpiredError, BrokenError, or msgspec.MsgspecError."""
        match event.type:
            case "ADDED" | "MODIFIED" | "DELETED":
                try:
                    item = read_or_identify(event.object, self.kind.read_item)
                except UnidentifiedError as error:
                    self._set_unidentified_aside(str(error))
                    resource_version = error.resource_version
                    if not number(resource_version):
                        raise ExpiredError(f"an object without a name and version in the watch: {error}") from error
                    self._advance_to(resource_version)
                    return
                key, resource_version = self.kind.key(item), item.metadata.resource_version
                version, cached = number(resource_version), self.objects.get(key)
                is_cached = cached is not None and not _is_another(cached, item)
                if event.type == "DELETED":
                    if is_cached and not item.metadata.uid and isinstance(item, Unreadable):
                        # Perhaps this is the late end of an earlier object of its name: a list says whether it exists.
                        raise ExpiredError(f"the uid of {key}, which was deleted, cannot be read")
                    if is_cached:
                        self._remove(key)
                    self._report_in_use(key)
                    self._last_deleted_version = max(self._last_deleted_version, version)
                # A stream that resumes may repeat events: an older version than the cached one is no change.
                elif cached is None or number(cached.metadata.resource_version) < version:
                    if not is_cached and 0 < version < self._last_deleted_version:
                        # Perhaps this very object was deleted since, and would be kept for ever if it were stored.
                        raise ExpiredError(f"an event for {key} is older than the latest deletion: it may be deleted")
                    self._store(key, item)
            case "BOOKMARK":
                resource_version = event.bookmark()
            case "ERROR" if (status := event.error()).code == 410:
                raise ExpiredError(status.message)
            case "ERROR":
                raise BrokenError(f"{event.error().code}: {event.error().message}")
            case _:
                raise BrokenError(f"a line of the unknown type {event.type!r}")
        self._advance_to(resource_version)

    def _advance_to(self, resource_version: str) -> None:
        """Let the watch resume after this version from now on, unless a later one was reached already."""
        if number(resource_version) > number(self.resource_version):
            self.resource_version = resource_version
            self._version_changed.set()

    # The copy.

    def _store(self, key: str, item: T | Unreadable) -> None:
        """Store an object and report the change to the sink."""
        old = self.objects.get(key)
        if old is not None and _is_another(old, item):  # deleted and created again, both unseen
            self._remove(key)
            old = None
        if isinstance(item, Unreadable):
            # What is known of the object stays as it is: a pod that cannot be decoded still takes its place on a node.
            in_use = "the last version that could be read stays in use, if there was one"
            self._set_aside(key, "unreadable", f"{key} cannot be read; {in_use}", item.problem)
            return
        if (known := self.set_aside.get(key)) and known.reason == "failed":
            old = None  # the sink does not have it: a list that shows the same version must not count as taken in
        is_same = old is not None and old.metadata.resource_version == item.metadata.resource_version
        if not is_same or self._reports_unchanged:
            self.objects[key] = item
            if not self._report(key, Change(old, item)):
                return
        if self.set_aside:
            self._report_in_use(key)

    def _remove(self, key: str) -> None:
        self._report(key, Change(self.objects.pop(key), None))

    def _report(self, key: str, change: Change[T]) -> bool:
        """Report a change to the sink; return whether that takes it in."""
        try:
            self._sink(change)
        except Exception as error:
            what = "the others go on without it, and its next version is tried again"
            if change.new is None or not any(other.reason == "failed" for other in self.set_aside.values()):
                logger.exception("%s: taking in a change of %s failed", self.kind.path, key)
            if change.new is not None:
                self._set_aside(key, "failed", f"{key} cannot be taken in; {what}", describe(error))
            return False
        return True

    # What is set aside.

    def _set_aside(self, key: str, reason: Reason, sentence: str, problem: str) -> None:
        known = self.set_aside.get(key)
        log = known.log if known else LogOnce(logger)
        self.set_aside[key] = SetAside(reason, problem, log)
        log.failing(f"{self.kind.path}: {sentence}", problem)

    def _set_unidentified_aside(self, problem: str) -> None:
        sentence = "an object cannot be read, and its name cannot be found; the others go on without it"
        self._set_aside(UNIDENTIFIED, "unreadable", sentence, problem)

    def _report_in_use(self, key: str) -> None:
        if set_aside := self.set_aside.pop(key, None):
            set_aside.log.recovered()

    def _report_recovered(self) -> None:
        if self._is_failing:
            self._is_failing = False
            self._failures_in_a_row = 0
            self._backoff.reset()
            self._interruption.recovered()


def _is_another(cached: Object, item: Object) -> bool:
    """Return whether ``item`` is not the ``cached`` object of its name, but was created after that was deleted.

    An unreadable object whose uid cannot be found either is taken for the same one: what was known of it stays.
    """
    if isinstance(item, Unreadable) and not item.metadata.uid:
        return False
    return cached.metadata.uid != item.metadata.uid
