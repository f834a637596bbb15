"""/statusz and /flagz: the process's version, uptime and flags, as text for people and as an object for programs.

A page is chosen by the header ``Accept``, as k8s.io/component-base/zpages/httputil does it:

text/plain                                                    the text
application/json;g=config.k8s.io;v=v1beta1;as=Statusz         the object; application/yaml is the same as YAML
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from scheduler_runtime.component.https.routes import TEXT, EndpointResponse, not_acceptable

COMPONENT = "kube-scheduler"
"""The name in the pages' metadata, for programs that query every component of a cluster."""
ALPHA, BETA = "v1alpha1", "v1beta1"
GROUP = "config.k8s.io"
TEXT_PLAIN, AS_JSON, AS_YAML = "text/plain", "application/json", "application/yaml"
MEDIA_TYPES = (AS_JSON, AS_YAML, TEXT_PLAIN)


@dataclass(frozen=True, slots=True)
class Representation:
    """A media type, and the version of the object if the media type is for programs."""

    media_type: str
    version: str = ""


PLAIN = Representation(TEXT_PLAIN)


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """Facts about a process that do not change while it runs."""

    release: str = ""
    flags: Mapping[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.time)
    """In seconds since 1970."""


@dataclass(frozen=True, slots=True)
class ZPage:
    """A page in the representation that the caller accepts, rendered anew for each request."""

    kind: str
    fields: Callable[[], Mapping[str, Any]]
    lines: Callable[[], Iterable[tuple[str, str]]]
    versions: Collection[str]

    def respond(self, accept: str) -> EndpointResponse:
        """Return the page in the best representation that ``accept`` allows, or 406."""
        representation = negotiate(accept, self.kind, self.versions)
        if representation is None:
            return not_acceptable(MEDIA_TYPES)
        page = self.kind.lower()
        if representation == PLAIN:
            warning = "Warning: This endpoint is not meant to be machine parseable; its form may change at any time."
            lines = "".join(f"{name}: {value}\n" for name, value in self.lines())
            return EndpointResponse(200, TEXT, f"\n{COMPONENT} {page}\n{warning}\n\n{lines}")
        media_type, version = representation.media_type, representation.version
        content = {"kind": self.kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": COMPONENT}}
        content.update(self.fields())
        body = yaml.safe_dump(content) if media_type == AS_YAML else json.dumps(content) + "\n"
        deprecated = {"Warning": f'299 - "{version} of /{page} is deprecated; ask for {BETA}"'}
        headers = deprecated if version == ALPHA and BETA in self.versions else {}
        return EndpointResponse(200, f"{media_type};g={GROUP};v={version};as={self.kind}", body, headers)


def statusz(info: ProcessInfo, emulated: str, paths: Collection[str], versions: Collection[str]) -> ZPage:
    """Return the page of uptime and versions; ``emulated`` is the Kubernetes version that the process behaves like."""
    started = time.gmtime(info.started)
    folders = sorted({f"/{path.split('/')[1]}" for path in paths})

    def uptime_seconds() -> int:
        return max(0, int(time.time() - info.started))

    def fields() -> dict[str, Any]:
        return {
            "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", started),
            "uptimeSeconds": uptime_seconds(),
            "binaryVersion": info.release,
            "emulationVersion": emulated,
            "paths": folders,
        }

    def lines() -> list[tuple[str, str]]:
        seconds = uptime_seconds()
        return [
            ("Started", time.strftime("%a %b %e %H:%M:%S UTC %Y", started)),
            ("Up", f"{seconds // 3600} hr {seconds // 60 % 60:02} min {seconds % 60:02} sec"),
            ("Python version", platform.python_version()),
            ("Binary version", info.release),
            ("Emulation version", emulated),
            ("Paths", " ".join(folders)),
        ]

    return ZPage("Statusz", fields, lines, versions)


def flagz(info: ProcessInfo, versions: Collection[str]) -> ZPage:
    """Return the page of all flags and their values."""
    return ZPage("Flagz", lambda: {"flags": dict(info.flags)}, lambda: sorted(info.flags.items()), versions)


@dataclass(frozen=True, slots=True)
class AcceptedType:
    """A media type, or a range of them, from the header ``Accept``."""

    type: str
    subtype: str
    quality: float = 1.0
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[float, bool, bool]:
        """Sort key: higher quality first, then the more exact type."""
        return -self.quality, self.type == "*", self.subtype == "*"

    def covers(self, media_type: str) -> bool:
        """Return True if ``media_type`` is within the range."""
        kind, _, subtype = media_type.partition("/")
        return self.type in ("*", kind) and self.subtype in ("*", subtype)

    def representation_as(self, media_type: str, kind: str, versions: Collection[str]) -> Representation | None:
        """Return the representation of ``kind`` as ``media_type`` if the parameters ``as``, ``g`` and ``v`` fit it."""
        requested = {name: self.parameters[name] for name in ("as", "g", "v") if name in self.parameters}
        if media_type == TEXT_PLAIN:
            return None if requested else PLAIN
        version = requested.get("v", "")
        fits = version in versions and requested == {"as": kind, "g": GROUP, "v": version}
        return Representation(media_type, version) if fits else None


def negotiate(header: str, kind: str, versions: Collection[str]) -> Representation | None:
    """Return the preferred representation of an object of this ``kind``; None if no available one is accepted."""
    if not header.strip():
        return PLAIN
    for accepted in sorted(parse_accept(header), key=lambda accepted: accepted.rank):
        for media_type in filter(accepted.covers, MEDIA_TYPES):
            if representation := accepted.representation_as(media_type, kind, versions):
                return representation
    return None


def parse_accept(header: str) -> Iterator[AcceptedType]:
    """Yield the media types of an ``Accept`` header in its order, without those that are malformed or have q=0."""
    for clause in header.split(","):
        media_type, *rest = (part.strip() for part in clause.split(";"))
        kind, slash, subtype = media_type.partition("/")
        pairs = (part.partition("=") for part in rest if part)
        parameters = {name.strip(): value.strip().strip('"') for name, _, value in pairs}
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 1.0
        if slash and quality > 0:
            yield AcceptedType(kind, subtype, quality, parameters)
