"""Put new documents in force while the scheduler runs: as a whole, between two decisions, or not at all.

source ──► DocumentText ──► Planner ──► prepare: watches listed, frameworks built ──► commit, between two decisions
              │                │                     │                                     │
              │                └─────────────────────┴── refused: the last one stays       │
              └── missing or unreachable: the last one stays in force                          ▼
                                                          reported: log, /configz, condition of the pod
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from scheduler_runtime import config
from scheduler_runtime.catalog.masking import masked_document
from scheduler_runtime.config import LoadReport, Problems, Verdict
from scheduler_runtime.framework import RegistrationError
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch.reflector_group import NotListedError
from scheduler_runtime.reload.document_sources import (
    DocumentState,
    NoDocument,
    Notify,
    SourceUnreachable,
    UnreadableDocument,
)
from scheduler_runtime.reload.plan import DocumentText, Plan, Planner, log_values
from scheduler_runtime.reload.plugin_sources import PluginSourceUnavailableError
from scheduler_runtime.reload.pod_condition import now

logger = logging.getLogger(__name__)

WAITS = "the API server does not return the code of its plugins now; it is requested again until it does"
FIRST_RETRY_SECONDS = 2.0
LONGEST_RETRY_SECONDS = 60.0


class DocumentSource(Protocol):
    """A source of new documents."""

    async def watch(self, notify: Notify, current: DocumentState) -> None:
        """Call ``notify`` with the newest state each time it differs from ``current``, or when a read is requested."""
        ...

    def locate(self, problem: str) -> str:
        """Return ``problem`` with the file or the object that has it."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedChange:
    """A change of one part to another plan that is ready, and that no decision sees so far."""

    commit: Callable[[], None] = lambda: None
    """Makes the change take effect. Called between two decisions; must neither wait nor raise."""
    discard: Callable[[], None] = lambda: None
    """Undoes the preparation. Called instead of ``commit``; must not raise either."""


class Reloadable(Protocol):
    """A part of the scheduler that depends on the document."""

    async def prepare(self, running: Plan, plan: Plan) -> PreparedChange:
        """Get ready to go from ``running`` to ``plan``, which may take a while. Decisions see no difference yet.

        A part that is the same in both plans may return a PreparedChange that does nothing.
        Raises RegistrationError or NotListedError, and leaves the part as it was then.
        """
        ...


class Reloader:
    """Keeps the newest valid document in force."""

    def __init__(
        self,
        running: Plan,
        parts: Sequence[Reloadable],
        planner: Planner,
        report: Callable[[LoadReport], None],
        backoff: Backoff | None = None,
    ) -> None:
        """``parts`` get ready in this order: each may build on those before it. They change in the reverse order.

        ``report`` is called with the document in force: now, and after each change. ``backoff`` has the pauses before
        a refused document is tried again.
        """
        self._running = running
        self._parts = parts
        self._planner = planner
        self._report = report
        self._backoff = backoff or Backoff(FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS)
        self._startup_fields = config.startup_only_fields(running.document)
        self._newest: DocumentState = running.text
        self._has_news = asyncio.Event()
        self._last_verdict: tuple[DocumentState, Verdict] | None = None
        """The newest document and why it is not in force; None when it is."""
        self._last_reason = ""
        self.refusals = 0
        """How many documents were refused; trying one again does not count, whatever it is refused for then."""
        self.status = LoadReport(running.text.hash, now())
        """The document in force, and what became of a newer one: the last that was reported."""
        report(self.status)

    async def run(self, source: DocumentSource) -> None:
        """Follow the documents of ``source`` until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(source.watch(self._set_newest, self._running.text))
            while True:
                has_news = await self._wait_for_news_or_retry()
                before = self.status.hash, self._last_verdict
                match newest := self._newest:
                    case NoDocument(why):
                        self._keep_current(newest, "missing", why)
                    case UnreadableDocument(why):
                        self._keep_current(newest, "refused", why)
                    case SourceUnreachable(why):
                        self._keep_current(newest, "waiting", why)
                    case DocumentText() if newest == self._running.text:
                        if self.status.verdict:  # it was changed, and changed back
                            self._report_in_force(self.status.loaded_at)
                            logger.info("the document is again the one in force", extra={"hash": self.status.hash})
                    case DocumentText():
                        await self._load(newest, source)
                if has_news and (self.status.hash, self._last_verdict) == before:
                    # A SIGHUP that changed nothing is answered too.
                    if verdict := self.status.verdict:
                        text = "the document is still %s, the last one stays in force: %s"
                        logger.warning(text, verdict, self._last_reason)
                    else:
                        logger.info("the document is unchanged and in force", extra={"hash": self.status.hash})

    def _set_newest(self, newest: DocumentState) -> None:
        # While one document is being loaded, only the newest of those that come is remembered.
        self._newest = newest
        self._has_news.set()

    async def _wait_for_news_or_retry(self) -> bool:
        """Return True when the source has news, False when it is time to try a refused document again.

        What a refused document lacked may be there by now: a right, a kind, the code of a plugin.
        """
        is_pending = self.status.is_pending
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._backoff.next_delay() if is_pending else None):
                await self._has_news.wait()
                self._backoff.reset()
        has_news = self._has_news.is_set()
        self._has_news.clear()
        return has_news

    async def _load(self, text: DocumentText, source: DocumentSource) -> None:
        def refuse(why: str) -> None:
            self._keep_current(text, "refused", why, "; ".join(source.locate(line) for line in why.splitlines()))

        try:
            plan = await self._planner.plan(text)
            if isinstance(plan, Problems):
                refuse(str(plan))
                return
            changes = await self.prepare(plan)
        except PluginSourceUnavailableError as error:
            # The cause may differ at each try, so it is no part of the report.
            logger.debug("the new document waits", extra={"because": str(error)})
            if text.hash != self.status.newest_hash:  # for one that was refused this is nothing new
                self._keep_current(text, "waiting", WAITS, WAITS if error.is_logged else f"{WAITS}: {error}")
        except (RegistrationError, NotListedError) as error:
            refuse(str(error))
        except Exception as error:
            logger.exception("taking over the new document failed")
            refuse(f"internal error: {type(error).__name__}: {error}")
        else:
            # Outside of the ``try``: after half a change no document is in force, so an error here is no refusal.
            self.commit(plan, changes)
            self._report_in_force(now())
            logger.info("follows a new document", extra={"hash": plan.text.hash, **log_values(plan)})

    async def prepare(self, plan: Plan) -> Sequence[PreparedChange]:
        """Get all parts ready to go over to ``plan``, or raise and leave everything as it is.

        Raises RegistrationError or NotListedError.
        """
        prepared: list[PreparedChange] = []
        try:
            for part in self._parts:
                prepared.append(await part.prepare(self._running, plan))  # noqa: PERF401 - after a failure it has those to discard
        except BaseException:  # also when the process ends while watches are listed
            for change in reversed(prepared):
                change.discard()
            raise
        return prepared

    def commit(self, plan: Plan, changes: Sequence[PreparedChange]) -> None:
        """Make ``plan`` decide from the next decision on, by the changes that ``prepare`` has returned for it.

        Whatever it raises has to end the process: some parts go by the new document then, the others by the last one.
        """
        # Nothing is awaited here, so no decision falls between two commits. A part that builds on others is replaced
        # before these are: first the frameworks, and last the watches that the replaced frameworks read.
        for change in reversed(changes):
            change.commit()
        self._running = plan

    def _report_in_force(self, at: str) -> None:
        """Report that the plan is in force since ``at``, and that no newer document is refused."""
        self._last_verdict = None
        self._set_report(LoadReport(self._running.text.hash, at))
        if fields := self._fields_after_restart():
            logger.warning("%s of the new document: takes effect only in a new process", ", ".join(fields))

    def _keep_current(self, newest: DocumentState, verdict: Verdict, why: str, log_reason: str = "") -> None:
        """Keep the plan in force, because of ``why``; ``log_reason`` is the same with the places of the problems.

        A verdict on a document is logged once, although retries may vary its reason, for example by an object's
        address.
        """
        self._last_reason = log_reason = log_reason or why
        if (newest, verdict) != self._last_verdict:
            self._last_verdict = newest, verdict
            self.refusals += verdict == "refused"
            level = logging.ERROR if verdict == "refused" else logging.WARNING
            subject = "document" if isinstance(newest, NoDocument | SourceUnreachable) else "new document"
            logger.log(level, "the %s is %s, the last one stays in force: %s", subject, verdict, log_reason)
        newest_hash = newest.hash if isinstance(newest, DocumentText) else ""
        report = LoadReport(self.status.hash, self.status.loaded_at, verdict, why, newest_hash)
        if report != self.status:
            self._set_report(report)

    def _set_report(self, report: LoadReport) -> None:
        self.status = report
        self._report(report)

    def configz_page(self) -> dict[str, Any]:
        """Return the content of /configz."""
        return configz_page(self.status, self._running.full_document, self._fields_after_restart())

    def _fields_after_restart(self) -> list[str]:
        """Return the fields of the document in force that take effect only in a new process, and that changed."""
        fields = config.startup_only_fields(self._running.document)
        return [name for name, value in fields.items() if value != self._startup_fields[name]]


def configz_page(
    report: LoadReport, full_document: Mapping[str, Any], after_restart: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the content of /configz: the document in force, its state, and its fields that take a restart."""
    return {
        "hash": report.hash,
        "loadedAt": report.loaded_at,
        **({report.verdict: report.error} if report.verdict else {}),
        **({"afterRestart": list(after_restart)} if after_restart else {}),
        "componentconfig": masked_document(full_document),
    }
