"""A new document, while the scheduler runs: understood beside the old one, and followed as a whole or not at all.

following ──► Found ──► plan ──► new watches listed ──► frameworks made ──► swapped between two decisions
                │         │              │                     │                       │
                │         └──────────────┴── refused: the last one stays in force      │
                └── missing, or not understood for now: the last one stays in force    ▼
                                                    told: log, /configz, condition of the pod
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from scheduler_runtime import config
from scheduler_runtime.config import LoadReport, Problems, Verdict
from scheduler_runtime.framework import RegistrationError
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch.reflector_group import NotListedError
from scheduler_runtime.reload.document_sources import (
    DocumentState,
    DocumentText,
    NoDocument,
    UnknownDocument,
    UnreadableDocument,
)
from scheduler_runtime.reload.plan import Plan, Planner
from scheduler_runtime.reload.plugin_sources import PluginSourceUnavailableError
from scheduler_runtime.reload.pod_condition import now

logger = logging.getLogger(__name__)

WAITS = "the API server does not tell the code of its plugins now; it is asked again until it does"
FIRST_RETRY_SECONDS = 2.0
LONGEST_RETRY_SECONDS = 60.0


class DocumentSource(Protocol):
    """Where new documents come from."""

    async def follow(self, tell: Callable[[DocumentState], None], last: DocumentState) -> None:
        """Tell each time when it is another one than ``last``, or when somebody asks for it, until cancelled."""
        ...

    def place(self, problem: str) -> str:
        """A problem of what was found, with the place where it was found."""
        ...


class Changes(Protocol):
    """What goes by a plan."""

    async def change(self, plan: Plan) -> None:
        """Go by another plan from the next decision on, or raise and leave everything as it is.

        Raises RegistrationError or NotListedError.
        """
        ...


class Reloader:
    """Has a process follow the newest document that can be followed."""

    def __init__(
        self,
        running: Plan,
        process: Changes,
        planner: Planner,
        say: Callable[[LoadReport], None],
        backoff: Backoff | None = None,
    ) -> None:
        """``say`` is told what the process runs by, now and after each change.

        ``backoff`` is how long to wait before a refused document is tried again.
        """
        self._running = running
        self._started_with = running
        self._process = process
        self._planner = planner
        self._say = say
        self._newest: DocumentState = running.found
        self._news = asyncio.Event()
        self._backoff = backoff or Backoff(FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS)
        self._kept: tuple[DocumentState, Verdict] | None = None
        self._said = ""
        self.refusals = 0
        """How often a document was refused, one that is only tried again not counted, whatever it is refused for."""
        self.loaded = LoadReport(running.found.hash, now())
        say(self.loaded)

    @property
    def running(self) -> Plan:
        """What the process goes by."""
        return self._running

    def configz(self) -> dict[str, Any]:
        """What the process goes by, for /configz."""
        return configz(self.loaded, self._running.in_full, self._unfollowed())

    async def run(self, follows: DocumentSource) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(follows.follow(self._tell, self._running.found))
            while True:
                is_told = await self._next()
                before = self.loaded.hash, self._kept
                await self._try(self._newest, follows)
                if is_told and (self.loaded.hash, self._kept) == before:
                    self._say_unchanged()

    async def _next(self) -> bool:
        """Wait until a document is told, or until it is time to try a refused one again: what it lacked may be there.

        Says whether one was told.
        """
        seconds = self._backoff.next_delay() if self.loaded.newest else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
                self._backoff.reset()
        is_told = self._news.is_set()
        self._news.clear()
        return is_told

    def _tell(self, newest: DocumentState) -> None:
        self._newest = newest
        self._news.set()

    async def _try(self, newest: DocumentState, follows: DocumentSource) -> None:
        match newest:
            case NoDocument(why):
                self._keep(newest, "missing", why, why)
            case UnreadableDocument(why):
                self._keep(newest, "refused", why, why)
            case UnknownDocument(why):
                self._keep(newest, "waiting", why, why)
            case DocumentText() if newest == self._running.found:
                self._take_back()
            case DocumentText():
                await self._change(newest, follows)

    async def _change(self, found: DocumentText, follows: DocumentSource) -> None:
        def refuse(why: str) -> None:
            self._keep(found, "refused", why, "; ".join(follows.place(line) for line in why.splitlines()))

        try:
            made = await self._planner.plan(found)
            if isinstance(made, Problems):
                refuse(str(made))
                return
            await self._process.change(made)
        except PluginSourceUnavailableError as error:
            self._wait(found, error)
        except (RegistrationError, NotListedError) as error:
            refuse(str(error))
        else:
            self._accept(made, now())
            logger.info("follows a new document", extra={"hash": made.found.hash, **made.for_the_log})

    def _take_back(self) -> None:
        """What is in force is the newest again: it was changed, and changed back."""
        if self.loaded.verdict:
            self._accept(self._running, self.loaded.at)
            logger.info("the document is again the one in force", extra={"hash": self.loaded.hash})

    def _say_unchanged(self) -> None:
        """Answer whoever asked for a look that changed nothing."""
        if verdict := self.loaded.verdict:
            logger.warning("the document is still %s, the last one stays in force: %s", verdict, self._said)
        else:
            logger.info("the document is unchanged and in force", extra={"hash": self.loaded.hash})

    def _accept(self, running: Plan, at: str) -> None:
        self._running = running
        self._kept = None
        self._report(LoadReport(running.found.hash, at))
        if waiting := self._unfollowed():
            logger.warning("%s of the new document: only a new process goes by it", ", ".join(waiting))

    def _wait(self, found: DocumentText, error: PluginSourceUnavailableError) -> None:
        """Keep what is in force for now. What keeps the API server from answering may differ each time."""
        logger.debug("the new document waits", extra={"because": str(error)})
        if found.hash != self.loaded.newest:  # of one that was refused this says nothing new
            self._keep(found, "waiting", WAITS, WAITS if error.is_said else f"{WAITS}: {error}")

    def _keep(self, newest: DocumentState, verdict: Verdict, why: str, said: str) -> None:
        """Keep what is in force, because of ``why``; ``said`` is the same for the log.

        The log tells a verdict on a document once: a reason may have something in it that is another at each try.
        """
        self._said = said
        if (newest, verdict) != self._kept:
            self._kept = newest, verdict
            self.refusals += verdict == "refused"
            level = logging.ERROR if verdict == "refused" else logging.WARNING
            called = "document" if isinstance(newest, NoDocument | UnknownDocument) else "new document"
            logger.log(level, "the %s is %s, the last one stays in force: %s", called, verdict, said)
        which = newest.hash if isinstance(newest, DocumentText) else ""
        kept = LoadReport(self.loaded.hash, self.loaded.at, verdict, why, which)
        if kept != self.loaded:
            self._report(kept)

    def _report(self, loaded: LoadReport) -> None:
        self.loaded = loaded
        self._say(loaded)

    def _unfollowed(self) -> list[str]:
        """What of the document is not in force, because the process was started with something else."""
        wanted, is_so = (
            config.startup_only_fields(self._running.document),
            config.startup_only_fields(self._started_with.document),
        )
        return [field for field in wanted if wanted[field] != is_so[field]]


def configz(loaded: LoadReport, in_full: Mapping[str, Any], unfollowed: Sequence[str] = ()) -> dict[str, Any]:
    """What /configz says; ``unfollowed`` is what of the document is not in force yet."""
    return {
        "hash": loaded.hash,
        "loadedAt": loaded.at,
        **({loaded.verdict: loaded.error} if loaded.verdict else {}),
        **({"afterRestart": list(unfollowed)} if unfollowed else {}),
        "componentconfig": in_full,
    }
