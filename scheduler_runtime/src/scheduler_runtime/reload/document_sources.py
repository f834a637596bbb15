"""Sources of new documents: the files that the process was started with, or its ConfigMap.

files (twice a second, or at SIGHUP) ──┐
                                       ├──► DocumentText, or why there is none ──► Reloader
ConfigMap (list and watch, by name) ───┘
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scheduler_runtime.api import Watch
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.reload.plan import DOCUMENT_KEY, EXTRAS_KEY, DocumentText
from scheduler_runtime.scheduling.watched_objects import reflected_kind
from scheduler_runtime.state.objects import ConfigMap

POLL_SECONDS = 0.5
CHECK_SECONDS = 1.0
"""How often the watch of the ConfigMap is checked. An interruption that has ended by the next check is not reported."""


class ObjectName(NamedTuple):
    """The name of an object in a namespace."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class NoDocument:
    """The file or the ConfigMap does not exist, or has no document."""

    why: str


@dataclass(frozen=True, slots=True)
class UnreadableDocument:
    """A document exists, but cannot be read; the reason says what to do."""

    why: str


@dataclass(frozen=True, slots=True)
class SourceUnreachable:
    """The source cannot be read at present: the API server does not return the ConfigMap."""

    why: str


DocumentState = DocumentText | NoDocument | UnreadableDocument | SourceUnreachable
Notify = Callable[[DocumentState], None]


class DocumentFiles:
    """The document and the extras in files.

    They are opened by their paths each time: a kubelet replaces the files of a mounted ConfigMap by turning a symbolic
    link to another folder.
    """

    def __init__(self, document: str, extras: str, poll_seconds: float = POLL_SECONDS) -> None:
        self._document = document
        self._extras = extras
        self._poll_seconds = poll_seconds
        self._read_requested = asyncio.Event()

    def read_now(self) -> None:
        """Read the files at once, and report their content even if it has not changed."""
        self._read_requested.set()

    async def watch(self, notify: Notify, current: DocumentState) -> None:
        """Call ``notify`` with the new state each time the files differ from ``current``, until cancelled."""
        previous = current
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._read_requested.wait()
            is_requested = self._read_requested.is_set()
            self._read_requested.clear()
            state = await asyncio.to_thread(self.read)
            # A file may be half written when it is read. Hence a change counts once two reads in a row agree on it;
            # whoever requests a read knows that the file is complete.
            if is_requested or (state != current and state == previous):
                notify(state)
                current = state
            previous = state

    def read(self) -> DocumentState:
        """Return the present content of the files, or why there is none."""
        file = self._extras
        try:
            extras = read_text(file) if file else ""
            file = self._document
            return DocumentText(read_text(file), extras)
        except FileNotFoundError:
            return NoDocument(f"{file} is not there; it is followed as soon as it is")
        except (OSError, UnicodeDecodeError) as error:
            return UnreadableDocument(f"{file}: {explain_unreadable(error)}")

    def locate(self, problem: str) -> str:
        """Return ``problem`` with the file that has it."""
        is_of_extras = problem.startswith(f"{EXTRAS_KEY}: ")
        return f"{self._extras}{problem.removeprefix(EXTRAS_KEY)}" if is_of_extras else f"{self._document}: {problem}"


def read_text(file: str) -> str:
    """Return the content of the file. Raises OSError or UnicodeDecodeError."""
    return Path(file).read_text(encoding="utf-8")


def explain_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Return why a file cannot be read, and what to do about it."""
    match error:
        case UnicodeDecodeError():
            return f"is not UTF-8: {error.reason} at byte {error.start}; save it as UTF-8"
        case IsADirectoryError():
            return "is a directory, and has to be a file"
        case PermissionError():
            return f"cannot be read: {error.strerror}; make it readable for the user that the scheduler runs as"
    return f"cannot be read: {error.strerror}"


class OwnConfigMap:
    """The document and the extras in a ConfigMap, which is watched by its name."""

    def __init__(self, client: Client, namespace: str, name: str, check_seconds: float = CHECK_SECONDS) -> None:
        self._client = client
        self._watch = Watch("v1", "ConfigMap", namespace, name)
        self._title = f"ConfigMap {namespace}/{name}"
        self._check_seconds = check_seconds
        self._missing = NoDocument(f"{self._title} is not there; it is followed as soon as it is")

    async def watch(self, notify: Notify, current: DocumentState) -> None:
        """Call ``notify`` with the new state each time the ConfigMap differs from ``current``, until cancelled.

        While it cannot be watched, a SourceUnreachable is passed on, and its content again when that is over.
        """
        notifier = _Notifier(notify, current)
        reflector: Reflector[ConfigMap] = Reflector(
            reflected_kind(self._watch), self._client, lambda change: notifier.update_content(self._state(change.new))
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            group.create_task(self._notify_if_missing(reflector, notifier))
            was_unknown = False
            while True:
                await asyncio.sleep(self._check_seconds)
                unknown = self._describe_trouble(reflector)
                is_notified = isinstance(notifier.latest, SourceUnreachable)
                # The text of a mere interruption may differ at each try: it is reported once. A refusal is reported
                # with each new text, as it says what to do.
                if unknown and was_unknown and (reflector.refusal or not is_notified):
                    notifier.send(unknown)
                elif not unknown and is_notified:
                    notifier.send(notifier.content)
                was_unknown = unknown is not None

    async def _notify_if_missing(self, reflector: Reflector[ConfigMap], notifier: _Notifier) -> None:
        # A list without the ConfigMap is no change of an object, so the reflector reports none.
        await reflector.synced.wait()
        if not reflector.objects:
            notifier.update_content(self._missing)

    def _describe_trouble(self, reflector: Reflector[ConfigMap]) -> SourceUnreachable | None:
        """Return why the content is unknown: it was never listed, or may not be watched any more; None if it is."""
        if refusal := reflector.refusal:
            rights = "; it takes list and watch on it" if refusal.status == 403 else ""
            return SourceUnreachable(f"{self._title} cannot be watched: {refusal}{rights}")
        if not reflector.synced.is_set():
            return SourceUnreachable(f"{self._title} cannot be watched: {reflector.trouble or 'no answer yet'}")
        return None

    async def read(self) -> DocumentState:
        """Return the present content, or why there is none."""
        kind = reflected_kind(self._watch)
        try:
            page = kind.read_list(await self._client.request("GET", kind.path, params=kind.params))
        except (ApiError, NoResponseError, ValueError, RecursionError) as error:
            return SourceUnreachable(f"{self._title} cannot be read: {error}")
        return self._state(page.items[0] if page.items else None)

    def _state(self, config_map: ConfigMap | None) -> DocumentState:
        if config_map is None:
            return self._missing
        data = config_map.data or {}
        if DOCUMENT_KEY not in data:
            return NoDocument(f"{self._title} has no {DOCUMENT_KEY}; the document is followed as soon as it is there")
        return DocumentText(data[DOCUMENT_KEY], data.get(EXTRAS_KEY, ""))

    def locate(self, problem: str) -> str:
        """Return ``problem`` with the name of the ConfigMap that has it."""
        return f"{self._title}: {problem}"


class _Notifier:
    """Passes on a state if it differs from the latest that was passed on."""

    def __init__(self, notify: Notify, current: DocumentState) -> None:
        self._notify = notify
        self.latest = current
        self.content = current
        """The content of the ConfigMap as it was last seen."""

    def update_content(self, content: DocumentState) -> None:
        self.content = content
        self.send(content)

    def send(self, state: DocumentState) -> None:
        if state != self.latest:
            self._notify(state)
            self.latest = state


class NoSource:
    """The source of a process that was started without a document: none ever comes."""

    async def watch(self, notify: Notify, current: DocumentState) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()

    def locate(self, problem: str) -> str:
        """Return ``problem`` as it is."""
        return problem
