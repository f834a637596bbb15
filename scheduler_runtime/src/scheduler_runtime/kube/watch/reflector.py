"""Keep a copy of every object of one kind, and tell each change once, with the object before it.

    list ──► watch ──► line ──► change ──► sink
     ▲         │ ▲
     │ expired │ └─ cut, silent, refused, restarted: resume after the last version seen
     └─────────┘
   or forgotten

No stream is trusted: it may end in the middle of a line, fall silent, repeat itself or go away
for good. Whatever happens, the sink sees a sequence of changes that leads from nothing to what the
API server holds; what vanished unseen is deleted when the next list does not have it. An object that
cannot be read stays what it was when it could be, and holds up no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Generic

import msgspec

from scheduler_runtime.kube.client import ApiError, Client, NoResponseError, retry_after
from scheduler_runtime.kube.http.stream import Stream
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch.catch_up import MissingChanges, find_missing_changes
from scheduler_runtime.kube.watch.envelopes import Unreadable, WatchEvent, decode_event, read_or_name, read_page
from scheduler_runtime.kube.watch.interruption_log import InterruptionLog
from scheduler_runtime.kube.watch.kinds import Change, Kind, ObjectList, T, number, version_of
from scheduler_runtime.kube.watch.pagination import list_pages, with_full_list_fallback
from scheduler_runtime.kube.watch.rollback_check import RolledBackError, check_not_rolled_back
from scheduler_runtime.kube.watch.streaming_list import stream_list

logger = logging.getLogger(__name__)

SLICE = 100
"""How many objects of a list are taken in before others have their turn."""
QUIET_SECONDS = 70.0
"""Most API servers send a bookmark every minute: after a longer silence a watch, dead perhaps, is begun anew."""
SHORTEST_WATCH, LONGEST_WATCH = 300, 600
TRIES_BEFORE_RELIST = 3
RELIST_SECONDS = 30.0
"""A list is work for the API server: two within this time have a pause between them."""
STEADY_SECONDS = 2.0
"""A watch that has gone on for so long goes well, also when nothing happens."""
LATE_SECONDS = 3.0
"""A watch that has not shown by then what was written before is begun anew."""
_chance = random.SystemRandom()


class ExpiredError(Exception):
    """The version to resume from is no longer kept: only a new list helps."""


class BrokenError(Exception):
    """The stream ended in a way that says nothing about the objects: resume."""


class Reflector(Generic[T]):
    """Lists and watches one kind for ever.

    ``sink`` is called synchronously for each change, in order, after the copy has been updated.
    What it raises ends ``run``: it is an error of this program, not of the API server.
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
        self.resource_version = ""
        self.synced = asyncio.Event()
        self._client = client
        self._sink = sink
        self._backoff = backoff or Backoff()
        self._interruption = InterruptionLog(kind.path, client.server)
        self._unreadable: dict[str, LogOnce] = {}
        self._on_rollback: Callable[[], None] = lambda: None
        self._unwell = False
        self._broken_in_a_row = 0
        self._listed_at = float("-inf")
        self._deleted_at = 0
        """The latest version at which the watch has shown something to be deleted."""
        self._resumes = False
        self._tells_anew = False
        self._stream: Stream | None = None
        self._moved = asyncio.Event()
        self._is_over = False
        self._refreshing: set[asyncio.Task[None]] = set()

    @property
    def trouble(self) -> str:
        """What keeps it from following the API server now; empty when nothing does."""
        return self._interruption.sentence

    @property
    def refusal(self) -> ApiError | None:
        """Why the API server does not let it follow; None when it does, or gives no answer."""
        return self._interruption.refusal

    async def run(self, on_rollback: Callable[[], None] = lambda: None) -> None:
        """Follow the API server until cancelled.

        ``on_rollback`` is called when this reflector is the first of its client to notice that data went back in time.
        """
        self._on_rollback = on_rollback
        try:
            while True:
                await self._follow()
        finally:
            self._is_over = True
            self._interruption.withdraw()
            for each in self._refreshing:
                each.cancel()  # nobody reads the copy any more, so nobody has to wait for it

    async def _follow(self) -> None:
        """List, or watch as long as that goes well."""
        try:
            if self.resource_version:
                await self._watch()
            else:
                await self._list()
        except RolledBackError as error:
            if self._client.report_rollback(str(error)):
                self._on_rollback()
            self._tells_anew = True
            await self._expire(error)
        except ExpiredError as error:
            await self._expire(error)
        except (BrokenError, NoResponseError, ApiError, msgspec.MsgspecError) as error:
            await self._recover(error)

    async def catch_up(self) -> None:
        """Return when the copy holds everything that was written before this call, or is kept no longer."""
        if self._is_over:
            return
        work = asyncio.create_task(self._wait_for_missing_changes())
        self._refreshing.add(work)
        try:
            await asyncio.wait([work])
        finally:
            self._refreshing.remove(work)
            work.cancel()
        if not work.cancelled():
            work.result()

    async def _wait_for_missing_changes(self) -> None:
        lacks = await self._lacking()
        while lacks.is_left(self.objects, number(self.resource_version)):
            self._moved.clear()
            try:
                async with asyncio.timeout(LATE_SECONDS):
                    await self._moved.wait()
            except TimeoutError:
                if self._stream:
                    self._stream.end()

    async def _lacking(self) -> MissingChanges:
        """What of all that is written now the copy has yet to see."""
        backoff, trouble = Backoff(), LogOnce(logger)
        while True:
            try:
                found = await find_missing_changes(self._client, self.kind, self.objects)
            except (NoResponseError, ApiError, msgspec.MsgspecError) as error:
                if not isinstance(error, NoResponseError) or error.sent:  # an absent server is said by the client
                    trouble.failing(f"whether all of {self.kind.path} is known cannot be found out", str(error))
                await asyncio.sleep(backoff.next_delay(retry_after(error)))
            else:
                trouble.recovered()
                return found

    async def _expire(self, error: ExpiredError | RolledBackError) -> None:
        """Have everything listed again; not at once when that was done a moment ago."""
        logger.debug("listing %s again: %s", self.kind.path, error)
        self.resource_version = ""
        if asyncio.get_running_loop().time() - self._listed_at < RELIST_SECONDS:
            await asyncio.sleep(self._backoff.next_delay())
        else:
            self._backoff.reset()

    async def _recover(self, error: Exception) -> None:
        """Say what happened if need be, pause, and after refusals in a row do not rely on the version."""
        if isinstance(error, NoResponseError):
            seconds = min(self._backoff.next_delay(), 5.0)  # nobody is there to be overrun
        elif isinstance(error, ApiError) and error.status == 429:
            seconds = self._backoff.next_delay(retry_after(error))
        else:
            seconds = max(self._backoff.next_delay(), retry_after(error))
            self._broken_in_a_row += 1
        if self._broken_in_a_row >= TRIES_BEFORE_RELIST:
            self._broken_in_a_row = 0
            self.resource_version = ""
        self._unwell = True
        self._interruption.failing(error)
        await asyncio.sleep(seconds)

    # Listing

    async def _list(self) -> None:
        """Take over the present state; what is not in it any more is deleted."""
        present, version = await self._everything()
        for key in [key for key in self.objects if key not in present]:
            self._remove(key)
        for key in [key for key in self._unreadable if key not in present]:
            self._is_no_longer_unreadable(key)
        self.resource_version = version
        self._deleted_at, self._resumes, self._tells_anew = 0, False, False
        self._listed_at = asyncio.get_running_loop().time()
        self._well()
        self.synced.set()
        self._moved.set()

    async def _everything(self) -> tuple[set[str], str]:
        """See all there is, while it comes; when that is cut, in pages.

        The API server cuts what takes longer than a minute, and each page has a minute for itself.
        """
        where = self._client, self.kind.path, self.kind.params, self._part
        try:
            return await self._see_all(stream_list(*where))
        except NoResponseError as error:
            if not error.sent:
                raise
            return await with_full_list_fallback(lambda limit: self._see_all(list_pages(*where, limit=limit)))

    async def _see_all(self, listed: AsyncGenerator[ObjectList[T | Unreadable], None]) -> tuple[set[str], str]:
        present, version = set[str](), ""
        async with contextlib.aclosing(listed) as found:
            async for part in found:
                version = part.metadata.resource_version
                for count, item in enumerate(part.items, start=1):
                    key = self.kind.key(item)
                    present.add(key)
                    self._see(key, item)
                    if count % SLICE == 0:
                        await asyncio.sleep(0)
                await asyncio.sleep(0)  # the next part may be there already
        return present, version

    def _part(self, raw: bytes) -> ObjectList[T | Unreadable]:
        try:
            return self.kind.read_list(raw)
        except msgspec.ValidationError:
            return read_page(raw, self._read)

    def _read(self, raw: msgspec.Raw) -> T:
        return self.kind.read_item(WatchEvent("", raw))

    # Watching

    async def _watch(self) -> None:
        """Follow one stream to its end. Returns when the API server ended it in good order."""
        params = {
            **self.kind.params,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.resource_version,
            "timeoutSeconds": str(_chance.randint(SHORTEST_WATCH, LONGEST_WATCH)),
        }
        if self._resumes:  # who answers now may know less than who answered before
            await check_not_rolled_back(self._client, self.kind, self.resource_version)
        self._resumes = True
        began, lines = asyncio.get_running_loop().time(), 0
        try:
            async with self._client.stream(self.kind.path, params=params, quiet_seconds=QUIET_SECONDS) as self._stream:
                with self._well_when_steady():
                    async for line in _lines(self._stream):
                        self._take(decode_event(line))
                        lines += 1
                        self._well()
        except ApiError as error:
            if error.status == 410:
                raise ExpiredError(str(error)) from error
            raise
        finally:
            self._stream = None
        if not lines and asyncio.get_running_loop().time() - began < 1:
            raise BrokenError("the watch ended at once without an event")

    def _take(self, event: WatchEvent) -> None:
        match event.type:
            case "ADDED" | "MODIFIED":
                item = read_or_name(event.object, self._read)
                key = self.kind.key(item)
                known = self.objects.get(key)
                if known is None or version_of(known) < version_of(item):
                    is_other = known is None or known.metadata.uid != item.metadata.uid
                    if is_other and 0 < version_of(item) < self._deleted_at:
                        raise ExpiredError(f"whether {key} is still there was told out of order")
                    self._see(key, item)
                self._moved_to(item.metadata.resource_version)
            case "DELETED":
                item = read_or_name(event.object, self._read)
                known = self.objects.get(self.kind.key(item))
                if known is not None and known.metadata.uid == item.metadata.uid:
                    self._remove(self.kind.key(item))
                self._is_no_longer_unreadable(self.kind.key(item))
                self._deleted_at = max(self._deleted_at, version_of(item))
                self._moved_to(item.metadata.resource_version)
            case "BOOKMARK":
                self._moved_to(event.bookmark())
            case "ERROR" if (status := event.error()).code == 410:
                raise ExpiredError(status.message)
            case "ERROR":
                raise BrokenError(f"{event.error().code}: {event.error().message}")
            case _:
                raise BrokenError(f"a line of the unknown type {event.type!r}")

    def _moved_to(self, version: str) -> None:
        """Resume after ``version`` from now on, unless it is one that was passed already."""
        if number(version) > number(self.resource_version):
            self.resource_version = version
            self._moved.set()

    # The copy

    def _see(self, key: str, item: T | Unreadable) -> None:
        if isinstance(item, Unreadable):
            self._cannot_read(key, item)
            return
        self._put(key, item)
        self._is_no_longer_unreadable(key)

    def _cannot_read(self, key: str, item: Unreadable) -> None:
        """Say it once. What is known of the object stays as it is, so that room it takes is not given away."""
        known = self.objects.get(key)
        if known is not None and known.metadata.uid != item.metadata.uid:
            self._remove(key)
        self._unreadable.setdefault(key, LogOnce(logger)).failing(
            f"{self.kind.path}: {key} cannot be read; what was read of it before, if anything, holds", item.problem
        )

    def _is_no_longer_unreadable(self, key: str) -> None:
        if self._unreadable and (trouble := self._unreadable.pop(key, None)):
            trouble.recovered()

    def _put(self, key: str, new: T) -> None:
        old = self.objects.get(key)
        if old is not None and old.metadata.uid != new.metadata.uid:  # deleted and made again while nobody looked
            self._remove(key)
            old = None
        is_known = old is not None and old.metadata.resource_version == new.metadata.resource_version
        if is_known and not self._tells_anew:
            return
        self.objects[key] = new
        self._sink(Change(old, new))

    def _remove(self, key: str) -> None:
        gone = self.objects.pop(key)
        self._sink(Change(gone, None))

    @contextlib.contextmanager
    def _well_when_steady(self) -> Iterator[None]:
        steady = asyncio.get_running_loop().call_later(STEADY_SECONDS, self._well)
        try:
            yield
        finally:
            steady.cancel()

    def _well(self) -> None:
        if self._unwell:
            self._unwell = False
            self._broken_in_a_row = 0
            self._backoff.reset()
            self._interruption.recovered()


async def _lines(stream: Stream) -> AsyncIterator[bytes]:
    """Cut a stream into lines. A last line without an end is a cut, not a line."""
    rest = b""
    while chunk := await stream.read():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line
        await asyncio.sleep(0)  # a stream that never pauses must not keep the loop to itself
    if rest:
        raise BrokenError("the stream was cut in the middle of a line")
