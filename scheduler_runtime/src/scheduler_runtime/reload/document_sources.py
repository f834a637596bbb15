"""Where new documents come from: the files that the process was started with, or its ConfigMap.

files (twice a second, or at SIGHUP) ──┐
                                       ├──► Found, or why there is nothing to follow ──► changing
ConfigMap (list and watch, by name) ───┘
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scheduler_runtime import config
from scheduler_runtime.api import Watch
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.watch import Change, Reflector
from scheduler_runtime.scheduling.watched_objects import kind_of
from scheduler_runtime.state.objects import ConfigMap

POLL_SECONDS = 0.5
LOOK_SECONDS = 1.0
"""How often it is seen whether the ConfigMap is told at all; what is over by the second time is no news."""
DOCUMENT_KEY = "config.yaml"
EXTRAS_KEY = "berth.yaml"


class ObjectName(NamedTuple):
    """An object in a namespace."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document as it is written, with what it has no field for."""

    text: str
    extras: str = ""

    @property
    def hash(self) -> str:
        """What it is told apart by."""
        return config.hash_of(self.text, self.extras)


@dataclass(frozen=True, slots=True)
class NoDocument:
    """There is nothing to read, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class UnreadableDocument:
    """There is something, but it cannot be read, and why; with what to do."""

    why: str


@dataclass(frozen=True, slots=True)
class UnknownDocument:
    """What there is is not told for now, and why."""

    why: str


DocumentState = DocumentText | NoDocument | UnreadableDocument | UnknownDocument
Tell = Callable[[DocumentState], None]


class DocumentFiles:
    """The document and the extras in files. They are read by their paths: a kubelet turns a link to new ones."""

    def __init__(self, document: str, extras: str, poll_seconds: float = POLL_SECONDS) -> None:
        self._document = document
        self._extras = extras
        self._poll_seconds = poll_seconds
        self._now = asyncio.Event()

    def look(self) -> None:
        """Read now, and take what is there as it is."""
        self._now.set()

    async def follow(self, tell: Tell, last: DocumentState) -> None:
        """Tell each time when the files say something else than ``last``, until cancelled.

        What is being written is not taken: it has to be the same at two looks. Who asks to ``look`` is told anyway.
        """
        seen = last
        while True:
            await self._pause()
            is_asked = self._now.is_set()
            self._now.clear()
            found = await asyncio.to_thread(self.read)
            if is_asked or (found != last and found == seen):
                tell(found)
                last = found
            seen = found

    def read(self) -> DocumentState:
        """What the files say now."""
        file = self._extras
        try:
            extras = text_of(file) if file else ""
            file = self._document
            return DocumentText(text_of(file), extras)
        except FileNotFoundError:
            return NoDocument(f"{file} is not there; it is followed as soon as it is")
        except (OSError, UnicodeDecodeError) as error:
            return UnreadableDocument(f"{file}: {why_unreadable(error)}")

    def place(self, problem: str) -> str:
        """A problem of what was found, with the file that has it."""
        is_of_extras = problem.startswith(f"{EXTRAS_KEY}: ")
        return f"{self._extras}{problem.removeprefix(EXTRAS_KEY)}" if is_of_extras else f"{self._document}: {problem}"

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._poll_seconds):
                await self._now.wait()


def text_of(file: str) -> str:
    """What the file says. Raises OSError or UnicodeDecodeError."""
    return Path(file).read_text(encoding="utf-8")


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why a file cannot be read, and what to do about it."""
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

    def __init__(self, client: Client, namespace: str, name: str, look_seconds: float = LOOK_SECONDS) -> None:
        self._client = client
        self._watch = Watch("v1", "ConfigMap", namespace, name)
        self._called = f"ConfigMap {namespace}/{name}"
        self._look_seconds = look_seconds

    async def follow(self, tell: Tell, last: DocumentState) -> None:
        """Tell each time when the ConfigMap says something else than ``last``, or is not told, until cancelled."""
        told = known = last

        def take(newest: DocumentState) -> None:
            nonlocal told
            if newest != told:
                tell(newest)
                told = newest

        def learn(newest: DocumentState) -> None:
            nonlocal known
            known = newest
            take(newest)

        reflector: Reflector[ConfigMap] = Reflector(
            kind_of(self._watch), self._client, lambda change: learn(self._read(change))
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            group.create_task(self._see_if_missing(reflector, learn))
            was_unseen = False
            while True:
                await asyncio.sleep(self._look_seconds)
                unseen = self._unseen(reflector)
                if unseen and was_unseen and (reflector.refusal or not isinstance(told, UnknownDocument)):
                    take(unseen)
                elif not unseen and isinstance(told, UnknownDocument):
                    take(known)
                was_unseen = unseen is not None

    async def _see_if_missing(self, reflector: Reflector[ConfigMap], learn: Tell) -> None:
        await reflector.synced.wait()
        if not reflector.objects:
            learn(self._gone())

    def _unseen(self, reflector: Reflector[ConfigMap]) -> UnknownDocument | None:
        """Why it is not known what the ConfigMap says: it was never listed, or may not be watched any more."""
        if refusal := reflector.refusal:
            needs = "; it takes get, list and watch on it" if refusal.status == 403 else ""
            return UnknownDocument(f"{self._called} is not told: {refusal}{needs}")
        if not reflector.synced.is_set():
            return UnknownDocument(f"{self._called} is not told: {reflector.trouble or 'no answer yet'}")
        return None

    def place(self, problem: str) -> str:
        """A problem of what was found, with the ConfigMap that has it."""
        return f"{self._called}: {problem}"

    def _read(self, change: Change[ConfigMap]) -> DocumentState:
        if change.new is None:
            return self._gone()
        data = change.new.data or {}
        if DOCUMENT_KEY not in data:
            return NoDocument(f"{self._called} has no {DOCUMENT_KEY}; the document is followed as soon as it is there")
        return DocumentText(data[DOCUMENT_KEY], data.get(EXTRAS_KEY, ""))

    def _gone(self) -> NoDocument:
        return NoDocument(f"{self._called} is not there; it is followed as soon as it is")


class NoSource:
    """Where no document was given, none follows."""

    async def follow(self, tell: Tell, last: DocumentState) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()

    def place(self, problem: str) -> str:
        """A problem, as it is: it is nowhere."""
        return problem
