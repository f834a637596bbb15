"""/statusz and /flagz: what this process is and how it was started, as text for people, as an object for programs."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from scheduler_runtime.serving.https.content_negotiation import AS_YAML, GROUP, MEDIA_TYPES, PLAIN, accepted
from scheduler_runtime.serving.https.routes import TEXT, Answer
from scheduler_runtime.serving.https.status_objects import not_acceptable

COMPONENT = "kube-scheduler"
"""Whom these pages speak of to programs that ask every component of a cluster."""
ALPHA, BETA = "v1alpha1", "v1beta1"


@dataclass(frozen=True, slots=True)
class ZPage:
    """A page that comes in the form in which it is asked for, made anew for everyone who asks."""

    kind: str
    fields: Callable[[], Mapping[str, Any]]
    lines: Callable[[], Iterable[tuple[str, str]]]
    versions: Collection[str]
    deprecated: Collection[str] = ()

    def answer(self, accept: str) -> Answer:
        """The answer to whoever accepts this."""
        form = accepted(accept, self.kind, self.versions)
        if form is None:
            return not_acceptable(MEDIA_TYPES)
        if form == PLAIN:
            return Answer(200, TEXT, self._text())
        made = {"kind": self.kind, "apiVersion": f"{GROUP}/{form.version}", "metadata": {"name": COMPONENT}}
        made.update(self.fields())
        written = yaml.safe_dump(made) if form.media_type == AS_YAML else json.dumps(made) + "\n"
        kind = f"{form.media_type};g={GROUP};v={form.version};as={self.kind}"
        return Answer(200, kind, written, self._warning(form.version))

    def _text(self) -> str:
        page = self.kind.lower()
        warning = "Warning: This endpoint is not meant to be machine parseable; its form may change at any time."
        lines = "".join(f"{name}: {value}\n" for name, value in self.lines())
        return f"\n{COMPONENT} {page}\n{warning}\n\n{lines}"

    def _warning(self, version: str) -> str:
        if version not in self.deprecated:
            return ""
        newer = ", ".join(each for each in self.versions if each not in self.deprecated)
        return f'299 - "{version} of /{self.kind.lower()} is deprecated; ask for {newer}"'


@dataclass(frozen=True, slots=True)
class About:
    """What does not change while a process runs."""

    release: str = ""
    flags: Mapping[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.time)
    """In seconds since 1970."""


def statusz(about: About, emulated: str, paths: Collection[str], versions: Collection[str]) -> ZPage:
    """How long the process runs, what it is, and where else to look; ``emulated`` is the version it behaves like."""
    started = time.gmtime(about.started)
    folders = sorted({f"/{path.split('/')[1]}" for path in paths})

    def seconds() -> int:
        return max(0, int(time.time() - about.started))

    def fields() -> dict[str, Any]:
        return {
            "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", started),
            "uptimeSeconds": seconds(),
            "binaryVersion": about.release,
            "emulationVersion": emulated,
            "paths": folders,
        }

    def lines() -> list[tuple[str, str]]:
        return [
            ("Started", time.strftime("%a %b %e %H:%M:%S UTC %Y", started)),
            ("Up", _hours(seconds())),
            ("Python version", platform.python_version()),
            ("Binary version", about.release),
            ("Emulation version", emulated),
            ("Paths", " ".join(folders)),
        ]

    return ZPage("Statusz", fields, lines, versions, _old(versions))


def flagz(about: About, versions: Collection[str]) -> ZPage:
    """Every flag and its value."""
    return ZPage(
        "Flagz", lambda: {"flags": dict(about.flags)}, lambda: sorted(about.flags.items()), versions, _old(versions)
    )


def _old(versions: Collection[str]) -> tuple[str, ...]:
    return (ALPHA,) if ALPHA in versions and BETA in versions else ()


def _hours(seconds: int) -> str:
    return f"{seconds // 3600} hr {seconds // 60 % 60:02} min {seconds % 60:02} sec"
